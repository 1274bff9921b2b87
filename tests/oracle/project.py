from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from proctor.journal.events import CheckFact
from proctor.oracle.check import Judgement, judge
from proctor.oracle.freeze import Frozen, freeze
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Policy

ADD = """
def add(a, b):
    return a + b
"""
WRONG = ADD.replace("+", "-")
TEST_ADD = """
import unittest
from calc import add

class TestAdd(unittest.TestCase):
    def test_small(self):
        self.assertEqual(add(1, 2), 3)

    def test_zero(self):
        self.assertEqual(add(0, 0), 0)
"""
UNITTEST = (sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", ".")
PYTEST = ("env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", sys.executable, "-m", "pytest", "-q", "tests")
"""Without the plugins that happen to be installed, which take longer to load than the tests to run."""


class Copies:
    """Checkpoints as plain copies, made and materialised with the mode bits that a repository keeps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        self.left: tuple[str, ...] = ()
        self.lacks: tuple[str, ...] = ()

    def snapshot(self, workspace: Path) -> str:
        self.count += 1
        shutil.copytree(
            workspace,
            self.folder / str(self.count),
            symlinks=True,
            ignore=shutil.ignore_patterns(".venv", "node_modules", *self.left),
        )
        return str(self.count)

    def not_kept(self, commit: str) -> tuple[str, ...]:
        return self.lacks

    def materialise(self, commit: str, dest: Path, exclude: tuple[str, ...] = ()) -> None:
        def left_out(folder: str, names: list[str]) -> set[str]:
            return {name for name in names if str(Path(folder, name).relative_to(self.folder / commit)) in exclude}

        shutil.copytree(self.folder / commit, dest, symlinks=True, ignore=left_out)


class Project:
    """A small project with frozen tests, whose state can be judged at any time."""

    def __init__(self, root: Path) -> None:
        self.workspace = root / "project"
        self.workspace.mkdir(parents=True)
        self.oracle = root / "oracle"
        self.out = root / "out"
        self.copies = Copies(root / "commits")
        self.frozen: Frozen
        self.hide: tuple[str, ...] = ()

    def write(self, path: str, text: str, mode: int = 0o644) -> Path:
        place = self.workspace / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(mode)
        return place

    def freeze(self, *protect: str, checks: Sequence[Sequence[str]] = (), ignored: Sequence[str] = ()) -> Frozen:
        self.frozen = freeze(self.workspace, self.oracle, protect, checks, ignored)
        return self.frozen

    def judge(self, *checks: CheckFact | Sequence[str], timeout: float = 60, optional: bool = True) -> Judgement:
        return judge(
            self.copies.snapshot(self.workspace),
            self.frozen,
            [c if isinstance(c, CheckFact) else CheckFact(run=tuple(c), timeout=timeout) for c in checks],
            store=self.copies,
            backend=choose("bwrap"),
            policy=Policy(workspace=self.workspace, hide=self.hide),
            out=self.out / str(self.copies.count),
            optional=optional,
        )

    def log(self, judgement: Judgement) -> str:
        return Path(judgement.log).read_text(errors="replace")
