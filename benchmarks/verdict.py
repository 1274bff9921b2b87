"""What a verdict takes beyond its check: the copy, the frozen files over it, the sandbox, the digest.

A workspace of `--files` files in a repository, ten of them changed before each verdict. The check takes a fifth of a
second by itself, measured beside each verdict with neither copy nor walls. `first` is the verdict that finds no copy of
an earlier one. The ratio is to a plain `git checkout-index` of the same tree into an empty folder, which a throwaway
copy would have to do each time. Medians over rounds.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import Bar, median, parser, report
from trees import Tree, run

from proctor.checkpoint.repository import Store
from proctor.journal.events import CheckFact
from proctor.oracle.check import judge
from proctor.oracle.freeze import freeze
from proctor.progress import fingerprint
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Policy
from proctor.trees import remove_tree
from proctor.words import Verdict

CHECK = CheckFact(run=("sh", "tests/check.sh"))
SCRIPT = "echo a line\nsleep 0.2\nexit 1\n"
BAR = "a verdict beyond its check, ms"
BARS = (Bar(BAR, 300),)


def timed(work: object) -> float:
    """Milliseconds."""
    begun = time.perf_counter()
    work()  # type: ignore[operator]
    return (time.perf_counter() - begun) * 1000


def main() -> int:
    made = parser(__doc__)
    made.add_argument("--files", type=int, default=10_000)
    made.set_defaults(rounds=15)
    given = made.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return report(given, measured(Path(folder), given.files, given.rounds), BARS)


def measured(folder: Path, files: int, rounds: int) -> dict[str, float | None]:
    tree = Tree(folder / "project", random.Random(1))
    tree.make(files)
    workspace = tree.workspace
    (workspace / "tests").mkdir()
    (workspace / "tests" / "check.sh").write_text(SCRIPT)
    store = Store(workspace, folder / "checkpoints.git")
    frozen = freeze(workspace, folder / "oracle", ["tests"], [CHECK.run], store.list_ignored())
    backend, policy = choose("bwrap"), Policy(workspace)
    kept = folder / "bench" / "tree"
    firsts, verdicts, bare, plain = [], [], [], []
    for number in range(rounds + 1):
        for path in tree.chance.sample(tree.files, 10):
            (workspace / path).write_bytes(tree.text.file())
        commit = store.tree_of_working_tree().commit

        def verdict(commit: str = commit, number: int = number) -> None:
            judgement = judge(
                commit, frozen, [CHECK], store=store, backend=backend, policy=policy, out=folder / "out", kept=kept
            )
            assert judgement.verdict is Verdict.FAILED, judgement
            fingerprint.failure(judgement.check, judgement.verdict, judgement.failing, judgement.failure)

        own = timed(lambda: subprocess.run(CHECK.run, cwd=workspace, stdout=subprocess.DEVNULL, check=False))
        if number == 0 or number > rounds - 3:
            remove_tree(kept.parent)
            firsts.append(timed(verdict) - own)
            plain.append(timed(lambda: checkout(workspace, folder / "plain")))
        else:
            verdicts.append(timed(verdict) - own)
            bare.append(own)
    return {
        BAR: median(verdicts),
        "the first one, ms": median(firsts),
        "the check itself, ms": median(bare),
        "a verdict, to a plain checkout": median(verdicts) / median(plain),
        "the first one, to a plain checkout": median(firsts) / median(plain),
    }


def checkout(workspace: Path, into: Path) -> None:
    env = {"GIT_INDEX_FILE": str(into) + ".index"}
    into.mkdir()
    run(workspace, "git", "read-tree", "HEAD", env=env)
    run(workspace, "git", f"--work-tree={into}", "checkout-index", "-a", "-q", env=env)
    remove_tree(into)
    os.unlink(env["GIT_INDEX_FILE"])


if __name__ == "__main__":
    sys.exit(main())
