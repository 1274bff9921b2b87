"""Git's locks, taken as git takes them."""

from __future__ import annotations

import os
from pathlib import Path

from proctor.checkpoint.gitstate import places
from proctor.checkpoint.gitstate.folder import GitFolder
from proctor.checkpoint.store.plumbing import write_file


class Left(Exception):
    """A repository that is not touched; `str()` says why."""


class Lock:
    """Git's lock on one file. What it is to become is written first, so that the lock appears whole; its inode is
    noted, so that our own is known after a kill."""

    def __init__(self, note: Path, folder: GitFolder, name: bytes, body: bytes, is_real: bool) -> None:
        self._note = note
        self._folder = folder
        self._name = name
        self._body = body
        self._path = name + b".lock" if is_real else b".proctor-" + name

    def take(self) -> None:
        """Left if another holds it."""
        folder, draft = self._folder, b".proctor-draft"
        found = folder.signature(self._path)
        if found is not None and places.content(self._note).decode("utf-8", "replace") == self._mark(found[4]):
            folder.remove(self._path)
        folder.write(draft, self._body)
        about = folder.signature(draft)
        assert about is not None
        write_file(self._note, self._mark(about[4]).encode())
        try:
            folder.link(draft, self._path)
        except FileExistsError:
            raise Left(f"{folder.path}/{os.fsdecode(self._path)} is there: git is at work, or was killed") from None
        finally:
            folder.remove(draft)

    def put(self) -> None:
        """Make it the file."""
        self._folder.rename(self._path, self._name)
        self._path = b""

    def drop(self) -> None:
        if self._path:
            self._folder.remove(self._path)

    def _mark(self, inode: int) -> str:
        return f"{self._folder.path} {inode}"
