"""A workspace on some disk, with what a case of the table needs of the house around it."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from checkpoint.photo import Photograph, git, photograph, write
from proctor.checkpoint.policy import DEFAULT, Keep
from proctor.checkpoint.repository import Snapshot, Store
from proctor.journal import events as ev
from proctor.journal.store import Journal
from proctor.supervisor.timeline import Timeline

T = TypeVar("T")
OWNED = ("tasks.json", "PROGRESS.md", "RULES.md")


@dataclass(frozen=True, slots=True)
class Ground:
    """`root` is an empty folder, `work` the workspace in it with a small project, `patch` undone after the case."""

    root: Path
    patch: pytest.MonkeyPatch

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def state(self) -> Path:
        return self.work / ".proctor"

    def prepare(self) -> None:
        write(self.state / ".gitignore", "*\n")
        write(self.work / "README", "a project\n")
        write(self.work / "src/main.py", "print(1)\n")
        write(self.work / "src/deep/er/x.py", "x = 1\n")
        write(self.work / "run.sh", "#!/bin/sh\n", 0o755)

    def repository(self, folder: str = ".") -> Path:
        """A repository of the user's in a folder of the workspace, with everything in it committed."""
        place = self.work / folder
        place.mkdir(parents=True, exist_ok=True)
        git(place, "init", "-q", "-b", "main")
        git(place, "add", ".")
        git(place, "commit", "-qm", "one", "--allow-empty")
        return place

    def store(self, keep: Keep = DEFAULT, work: Path | None = None, theirs: bool = False) -> Store:
        """The store of the workspace, or of another; `theirs`: workers have the operator's own repository."""
        at = work or self.work
        return Store(at, at / ".proctor/checkpoints.git", OWNED, keep, theirs=theirs)

    def photo(self) -> Photograph:
        return photograph(self.work, nested_git=False)

    @contextlib.contextmanager
    def session(self, name: str = "") -> Iterator[Timeline]:
        """The timeline of this workspace's session, as a restart finds it; one with a name is another session."""
        state = self.state / name
        state.mkdir(parents=True, exist_ok=True)
        journal = Journal(state / "journal.db")
        try:
            if not journal.state().session:
                journal.append(ev.SessionStarted(session=uuid.uuid4().hex[:12], workspace=str(self.work), goal=""))
            yield Timeline(journal, Store(self.work, state / "checkpoints.git", OWNED))
        finally:
            journal.close()

    def there_and_back(self, change: Callable[[Path], object], store: Store | None = None) -> tuple[Snapshot, Snapshot]:
        """A change, the way back, and forward again: each time all of the tree is what it was. The two checkpoints."""
        store = store or self.store()
        before, was = store.snapshot("c1"), self.photo()
        change(self.work)
        after, then = store.snapshot("c2", before.commit), self.photo()
        store.restore(after.commit, before.commit)
        assert self.photo() == was
        again = store.snapshot("c3", after.commit)
        assert again.tree == before.tree
        store.restore(again.commit, after.commit)
        assert self.photo() == then
        return before, after


def wait(awaitable: Awaitable[T]) -> T:
    async def whole() -> T:
        return await awaitable

    return asyncio.run(whole())
