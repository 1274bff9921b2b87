"""A checkpoint and a rollback of ten changes among 10,000 files, beside `git status` on the same tree.

Each round changes ten files, then asks git for the status of the user's own repository, takes a checkpoint, and
rolls back: with the safety checkpoint and the proof that the tree is equal. Pairs in turn, medians of ratios.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import Bar, flags, median, report

from proctor.checkpoint.repository import Store

FILES, FOLDERS, CHANGES = 10_000, 625, 10


def tree(workspace: Path, chance: random.Random) -> list[Path]:
    paths = []
    for number in range(FILES):
        path = workspace / f"d{number % 25}" / f"e{number % FOLDERS}" / f"f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"line {chance.random()}\n" for _ in range(chance.randrange(40, 240))))
        paths.append(path)
    return paths


def main() -> int:
    given = flags(__doc__)
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        workspace = Path(name, "workspace")
        paths = tree(workspace, chance)
        git = ["git", "-c", "user.name=b", "-c", "user.email=b@localhost", "-C", str(workspace)]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "a tree"]):
            subprocess.run([*git, *words], check=True)
        store = Store(workspace, Path(name, "state", "checkpoints.git"))
        begun = time.perf_counter()
        start = store.snapshot("c0")
        first = time.perf_counter() - begun
        statuses, snapshots, rollbacks = [], [], []
        for number in range(max(3, given.rounds // 3)):
            for path in chance.sample(paths, CHANGES):
                path.write_text(f"changed {number} {chance.random()}\n" * 50)
            begun = time.perf_counter()
            subprocess.run([*git, "status", "--porcelain"], check=True, capture_output=True)
            statuses.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            store.snapshot("c1")
            snapshots.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            safety = store.snapshot("c2")
            store.restore(safety.commit, start.commit)
            rollbacks.append(time.perf_counter() - begun)
    figures = {
        "git status, ms": median(statuses) * 1000,
        "first checkpoint, s": first,
        "checkpoint, ratio to git status": median(b / a for a, b in zip(statuses, snapshots, strict=True)),
        "rollback, ratio to git status": median(b / a for a, b in zip(statuses, rollbacks, strict=True)),
    }
    bars = (Bar("checkpoint, ratio to git status", 4), Bar("rollback, ratio to git status", 10))
    return report(given, figures, bars)


if __name__ == "__main__":
    sys.exit(main())
