"""Checkpoints and rollbacks beside `git status` and beside what other agents run for theirs, on the same tree.

Trees of 1,000, 10,000 and 100,000 files (`--sizes`), and 0, 10 or 1,000 changed files: four fifths edited, a tenth
new, a tenth gone. In each round all methods come in an order of its own; each first looks at the tree untimed, then
files are changed anew, and then it is timed. Ratios are medians of the ratios within rounds.

`provisional` is told what changed, as a session's watcher tells it; `confirmed` looks at all of the tree, with what
is ignored and the state of the repository. `first` is provisional in an empty store, and confirmed next. `rollback` is
the safety checkpoint, the way back and the proof. Disk is what the store holds alone: packs that it shares with the
user's repository count for nothing.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

from common import Bar, median, parser, report
from peers import PEERS, Place
from trees import Change, Tree, run

from proctor.checkpoint.repository import Store

CHANGES = (0, 10, 1_000)
STATUS, PROVISIONAL, CONFIRMED, ROLLBACK = "git status", "provisional", "confirmed", "rollback"
FIRST, FIRST_CONFIRMED = "first", "first, confirmed"
SMALL, MIDDLE, LARGE = SIZES = (1_000, 10_000, 100_000)
MOST: dict[str, dict[int, float]] = {
    "provisional of 10, to the fastest peer": {MIDDLE: 1 / 3, LARGE: 1 / 20},
    "provisional of 1,000, to the fastest peer": {MIDDLE: 1, LARGE: 1},
    "confirmed of 10, to git status": {MIDDLE: 4, LARGE: 2},
    "first, to git status": {LARGE: 2},
    "rollback of 10, to git status": {MIDDLE: 8, LARGE: 4},
    "disk of the first, % of the tree": dict.fromkeys(SIZES, 5),
    "disk of 200 changes, to git's own objects": dict.fromkeys(SIZES, 1.2),
    "disk left after a prune, part of that": dict.fromkeys(SIZES, 0.1),
}
GROWTH = "provisional of 10, 100,000 files to 10,000"
Times = dict[tuple[str, int], list[float]]
"""Milliseconds by method and number of changes, one a round."""


class Ours:
    """One workspace's store, where a session keeps it."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._place = workspace / ".proctor"
        self._place.mkdir()
        (self._place / ".gitignore").write_text("*\n")
        self._names = map("c{}".format, count())
        self._store = Store(workspace, self._place / "checkpoints.git")
        self._base = self._store.snapshot("base").commit
        self._last = self._base

    def provisional(self, change: Change) -> None:
        self._last = self._store.provisional(next(self._names), change.paths, self._last).commit

    def confirmed(self, _: Change | None = None) -> None:
        self._last = self._store.snapshot(next(self._names), self._last).commit

    def rollback(self, change: Change) -> None:
        safety = self._store.snapshot(next(self._names), self._last)
        self._store.restore(safety.commit, self._base)

    def first(self) -> None:
        self._first = Store(self._workspace, self._place / "first" / "checkpoints.git")
        at_once = self._first.provisional("c0", ())
        assert at_once is not None

    def first_confirmed(self) -> None:
        self._first.confirm("c0", self._first.names()["c0"])

    def forget_first(self) -> None:
        shutil.rmtree(self._place / "first")

    def prune(self) -> None:
        self._store.gc({self._base})
        self._last = self._base

    def size(self) -> int:
        """Bytes that the store holds alone."""
        found = (os.lstat(os.path.join(folder, name)) for folder, _, names in os.walk(self._place) for name in names)
        return sum(state.st_size for state in found if state.st_nlink == 1)


class Bench:
    """Every method on one tree."""

    def __init__(self, folder: Path, files: int) -> None:
        self._folder = folder
        self._chance = random.Random(files)
        self._tree = Tree(folder / "workspace", self._chance)
        self._tree.make(files)
        self.times: Times = {}
        self._methods: dict[str, Callable[[Change], object]] = {STATUS: lambda _: self._status()}
        for name, (begin, take) in PEERS.items():
            place = Place(self._tree.workspace, folder / name)
            begin(place)
            self._methods[name] = partial(self._peer, take, place)
        self._ours = Ours(self._tree.workspace)
        self.share = 100 * self._ours.size() / self._tree.size
        self._methods[CONFIRMED] = self._ours.confirmed
        if hasattr(Store, "provisional"):
            self._methods[PROVISIONAL] = self._ours.provisional
        self._methods[ROLLBACK] = self._ours.rollback

    def _status(self) -> None:
        run(self._tree.workspace, "git", "status", "--porcelain")

    @staticmethod
    def _peer(take: Callable[[Place], None], place: Place, _: Change) -> None:
        take(place)

    def round(self) -> None:
        turns = [(name, changes) for name in self._methods for changes in CHANGES]
        self._chance.shuffle(turns)
        for name, changes in turns:
            take = self._methods[name]
            look = self._ours.confirmed if name in (PROVISIONAL, ROLLBACK) else take
            look(Change(self._tree.workspace, {}, []))
            change = self._tree.change(changes)
            self._time(name, changes, partial(take, change))
            if name == ROLLBACK and not change.is_back():
                raise AssertionError("the rollback did not give back what there was")
            change.take_back()
        self._status()
        self._time(FIRST, 0, self._ours.first)
        self._time(FIRST_CONFIRMED, 0, self._ours.first_confirmed)
        self._ours.forget_first()

    def _time(self, name: str, changes: int, work: Callable[[], object]) -> None:
        begun = time.perf_counter()
        work()
        self.times.setdefault((name, changes), []).append((time.perf_counter() - begun) * 1000)

    def ms(self, name: str, changes: int) -> float:
        return median(self.times[name, changes])

    def ratio(self, name: str, changes: int, to: str) -> float:
        return median(a / b for a, b in zip(self.times[name, changes], self.times[to, changes], strict=True))

    def fastest(self, changes: int) -> str:
        return min(PEERS, key=lambda name: self.ms(name, changes))

    def growth(self, times: int = 20) -> tuple[float, float]:
        """The store's growth by twenty checkpoints of ten changes, as a share of the same change compressed by git
        into objects of its own, trees included; and the share of that growth that is left after a prune."""
        before = self._ours.size()
        scratch = self._folder / "scratch"
        (scratch / "objects").mkdir(parents=True)
        shutil.copy2(self._tree.workspace / ".git/index", scratch / "index")
        env = {
            "GIT_INDEX_FILE": f"{scratch}/index",
            "GIT_OBJECT_DIRECTORY": f"{scratch}/objects",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{self._tree.workspace}/.git/objects",
        }
        made = []
        for _ in range(times):
            made.append(self._tree.change(10))
            self._ours.confirmed()
            run(self._tree.workspace, "git", "-c", "core.looseCompression=1", "add", "-A", env=env)
            run(self._tree.workspace, "git", "-c", "core.looseCompression=1", "write-tree", env=env)
        least = sum(path.stat().st_size for path in (scratch / "objects").rglob("*") if path.is_file())
        grown = self._ours.size() - before
        self._ours.prune()
        for change in reversed(made):
            change.take_back()
        return grown / least, max(0, self._ours.size() - before) / grown


def table(files: int, bench: Bench) -> str:
    """Medians in ms, and times `git status`, by method."""
    lines = [f"{files:,} files: ms (times git status) after {', '.join(f'{n:,}' for n in CHANGES)} changes"]
    for name in (STATUS, *PEERS, PROVISIONAL, CONFIRMED, ROLLBACK, FIRST, FIRST_CONFIRMED):
        cells = (
            f"{bench.ms(name, n):9.1f} ({bench.ratio(name, n, STATUS):5.2f})" if (name, n) in bench.times else ""
            for n in CHANGES
        )
        lines.append(f"  {name:15}{''.join(f'{cell:20}' for cell in cells)}".rstrip())
    return "\n".join(lines)


def measured(bench: Bench) -> dict[str, float]:
    """The figures of one tree, by name."""
    found = {
        "confirmed of 10, to git status": bench.ratio(CONFIRMED, 10, STATUS),
        "first, to git status": bench.ratio(FIRST, 0, STATUS),
        "its confirmation, to git status": bench.ratio(FIRST_CONFIRMED, 0, STATUS),
        "rollback of 10, to git status": bench.ratio(ROLLBACK, 10, STATUS),
        "disk of the first, % of the tree": bench.share,
    }
    if (PROVISIONAL, 10) in bench.times:
        found["provisional of 10, ms"] = bench.ms(PROVISIONAL, 10)
        for changes in (10, 1_000):
            name = f"provisional of {changes:,}, to the fastest peer"
            found[name] = bench.ratio(PROVISIONAL, changes, bench.fastest(changes))
    names = ("disk of 200 changes, to git's own objects", "disk left after a prune, part of that")
    return found | dict(zip(names, bench.growth(), strict=True))


def main() -> int:
    words = parser(__doc__)
    words.set_defaults(rounds=7)
    words.add_argument("--sizes", default="1000,10000,100000", help="files in a tree, with commas between")
    given = words.parse_args()
    os.environ |= {"HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    figures: dict[str, float | None] = {}
    for files in map(int, given.sizes.split(",")):
        with tempfile.TemporaryDirectory(prefix="checkpoints-") as folder:
            bench = Bench(Path(folder), files)
            for _ in range(given.rounds if files < LARGE else (given.rounds + 1) // 2):
                bench.round()
            figures |= {f"{files:,}: {name}": value for name, value in measured(bench).items()}
            print(table(files, bench), file=sys.stderr if given.json else sys.stdout, flush=True)
    bars = [Bar(f"{files:,}: {name}", most) for name, sizes in MOST.items() for files, most in sizes.items()]
    few, many = (figures.get(f"{files:,}: provisional of 10, ms") for files in (MIDDLE, LARGE))
    if few and many:
        figures[GROWTH] = many / few
        bars.append(Bar(GROWTH, 2))
    return report(given, figures, tuple(bar for bar in bars if bar.figure in figures))


if __name__ == "__main__":
    sys.exit(main())
