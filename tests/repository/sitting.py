"""A workspace with its checkpoints and its session branch, and looking at it with the operator's own git."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from checkpoint.photo import git, write
from proctor.checkpoint.repository import Store
from proctor.repository.branch import Branch, Point, Published, Verified
from proctor.repository.layout import find

SESSION = "0123456789ab"
NAME = f"proctor/{SESSION}"
OWNED = ("tasks.json", "PROGRESS.md", "RULES.md", "proctor.yaml")
BORN = datetime.now(UTC)


class Sitting:
    """A workspace with its checkpoints and its branch, as a session holds them."""

    def __init__(self, work: Path, hide: tuple[str, ...] = ()) -> None:
        self.work = work
        self.store = Store(work, work / ".proctor" / "checkpoints.git", OWNED)
        self.points: dict[str, str] = {}
        self.made: dict[str, str] = {}
        self.start = self.last = self.keep()
        self.branch = Branch(
            find(work),
            self.store,
            session=SESSION,
            start=self.start,
            born=BORN,
            scratch=work / ".proctor" / "branch",
            left_out=(*OWNED, *hide),
        )

    def keep(self) -> Point:
        name = f"c{len(self.points) + 1}"
        self.points[name] = self.store.snapshot(name).commit
        return Point(name, self.points[name])

    def verified(self, task: int, text: str = "do it") -> Verified:
        return Verified(task, text, ("pytest -q 'tests/a b.py'",), self.keep())

    def publish(self, done: Verified) -> Published:
        published = self.branch.publish(done, self.last, self.points, self.made)
        self.made[done.at.id] = published.commit
        self.last = done.at
        assert not (self.work / ".proctor" / "branch").exists()
        return published

    def task(self, number: int, text: str = "do it") -> Published:
        return self.publish(self.verified(number, text))


def project(work: Path) -> Path:
    """A committed project."""
    write(work / "src/a.py", "a = 1\n")
    write(work / "src/b.py", "b = 1\n")
    write(work / "run.sh", "#!/bin/sh\n", 0o755)
    write(work / ".gitignore", ".env\n*.log\n/.proctor/\n")
    write(work / "tasks.json", "[]\n")
    git(work, "init", "-q", "-b", "trunk")
    committed(work)
    return work


def committed(work: Path, message: str = "more") -> str:
    git(work, "add", "-A")
    git(work, "commit", "-q", "--allow-empty", "-m", message)
    return git(work, "rev-parse", "HEAD").strip()


def tree(work: Path, commit: str = NAME) -> dict[str, str]:
    """Path to mode and id."""
    lines = git(work, "ls-tree", "-r", "-z", commit).split("\0")[:-1]
    return {path: head for head, path in (line.split("\t", 1) for line in lines)}


def changed(work: Path, commit: str = NAME) -> list[str]:
    """What a commit says that it changed."""
    return git(work, "diff-tree", "-r", "--root", "--no-commit-id", "--no-renames", "--name-only", commit).split()


def subjects(work: Path, since: str = "trunk") -> list[str]:
    return git(work, "log", "--reverse", "--format=%s", f"{since}..{NAME}").splitlines()


def message(work: Path, commit: str = NAME) -> str:
    return git(work, "log", "-1", "--format=%B", commit)


def own(folder: Path) -> dict[str, bytes]:
    """Every file of a git folder but its objects and the session's branch."""
    names = {path for path in folder.rglob("*") if path.is_file() or path.is_symlink()}
    found = {str(path.relative_to(folder)): path.read_bytes() for path in names}
    return {name: body for name, body in found.items() if not name.startswith("objects/") and "/proctor/" not in name}
