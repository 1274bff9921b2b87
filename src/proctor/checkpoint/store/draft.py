"""New objects and a new index, written aside and taken into the store whole and on disk, or not at all.

A checkpoint's objects become one pack, whoever wrote them: two files to flush instead of one for each object.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from proctor.checkpoint.record import (
    BESIDE,
    FILE,
    FILES,
    FOLDER,
    MANIFEST,
    META,
    NOTES,
    STATE,
    Held,
    identity,
    tree_body,
)
from proctor.checkpoint.store.packs import Pack, flush_folder
from proctor.checkpoint.store.plumbing import ALTERNATES, Git, listed
from proctor.trees import remove_tree

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 a folder whose name nobody can foresee is made there, for its owner only
IN_MEMORY = 16 << 20
"""Bytes of new files up to which a draft is made in memory."""
_MEMORY = "memory"
"""Names the folder in memory, so that the next draft can remove what a dead process left."""


class Draft:
    """One set of new objects over the store's, and an index that begins as the store's. Wants the store's lock held.

    Leaving it without `admit` forgets everything; what a dead process left is removed by the next. Without `commands`
    it takes only what is put into it, and costs less.
    """

    def __init__(self, git: Git, *, commands: bool = True) -> None:
        self._git = git
        self._commands = commands
        self._folder = git.gitdir / "draft"
        self._objects = self._folder / "objects"
        self._own = git.gitdir / "objects"
        self.pack = Pack(self._own / "pack")
        self.index = self._folder / "index"
        self.afterwards: list[Callable[[], None]] = []
        self.closing = contextlib.ExitStack()
        """What is left with the draft, whether it was admitted or not."""

    def __enter__(self) -> Draft:
        if not self._commands:
            return self
        self._remove()
        self._objects.mkdir(parents=True)
        with contextlib.suppress(FileNotFoundError):
            os.link(self._git.gitdir / "index", self.index)  # git replaces an index, it never writes into one
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.closing.close()
        self.pack.forget()
        if self._commands:
            self._remove()

    def _remove(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            name = (self._folder / _MEMORY).read_text()
            place = SHARED_MEMORY / name
            if re.fullmatch(r"proctor-[0-9a-f]{32}", name) and os.lstat(place).st_uid == os.geteuid():
                remove_tree(place)
        remove_tree(self._folder)

    @property
    def env(self) -> dict[str, str]:
        """What makes a command read and write here."""
        return {
            "GIT_INDEX_FILE": str(self.index),
            "GIT_OBJECT_DIRECTORY": str(self._objects),
            ALTERNATES: listed([self._own, *self._git.lenders]),
        }

    def make_room(self, size: int) -> None:
        """Prepare for about so many bytes, also anew. Many small files are made here for a moment: in memory, if they
        fit."""
        self._objects, note = self._folder / "objects", self._folder / _MEMORY
        with contextlib.suppress(OSError):
            free = os.statvfs(SHARED_MEMORY)
            if size < IN_MEMORY and free.f_bavail * free.f_frsize > 8 * IN_MEMORY:
                if not note.exists():
                    note.write_text(f"proctor-{secrets.token_hex(16)}")
                place = SHARED_MEMORY / note.read_text()
                place.mkdir(mode=0o700, exist_ok=True)
                self._objects = place

    def run(self, *args: str, input: bytes = b"", config: Sequence[str] = ()) -> bytes:
        """Run a command that writes here."""
        return self._git.run(*args, input=input, env=self.env, config=("core.fsync=none", *config))

    def put(self, kind: str, body: bytes) -> str:
        """Write one object; its id. Commands do not see it before it is admitted."""
        return self.pack.add(kind, body)

    def put_tree(self, held: Held) -> str:
        """Write the tree that is a working tree's identity."""
        self.put("blob", held.manifest.encode())
        return self.put("tree", identity(held.files, held.manifest)[1])

    def put_commit(self, name: str, held: Held, meta: bytes) -> str:
        """Write the commit of a checkpoint. It has no parent, so that each one can be dropped alone."""
        tree = {
            FILES: (FOLDER, held.files),
            MANIFEST: (FILE, self.put("blob", held.manifest.encode())),
            META: (FILE, self.put("blob", meta)),
            NOTES: (FILE, self.put("blob", held.notes.encode())),
        }
        tree |= {name: (FOLDER, oid) for name, oid in ((STATE, held.state), (BESIDE, held.beside)) if oid}
        who = f"proctor <proctor@localhost> {int(time.time())} +0000"
        body = f"tree {self.put('tree', tree_body(tree))}\nauthor {who}\ncommitter {who}\n\n{name}\n"
        return self.put("commit", body.encode())

    def put_whole(self, name: str, held: Held, meta: bytes) -> str:
        """Write all of a checkpoint: its commit, and its identity, so that this alone can be compared later."""
        self.put_tree(held)
        return self.put_commit(name, held, meta)

    def admit(self) -> None:
        """Take objects and index into the store. The objects are on disk before the index names them."""
        if self._commands:
            self._gather()
        self.pack.finish()
        if self._commands:
            with contextlib.suppress(FileNotFoundError):
                os.replace(self.index, self._git.gitdir / "index")
        for task in self.afterwards:
            task()

    def _gather(self) -> None:
        """Take over what commands wrote."""
        for loose in self._objects.glob("??/*"):
            self.pack.add_loose(loose)
        place = self._own / "pack"
        for pack in (self._objects / "pack").glob("*.pack"):
            if not self.pack.absorb(pack):
                for suffix in (".pack", ".idx"):  # a pack counts once its index is there
                    adopt(pack.with_suffix(suffix), place / pack.with_suffix(suffix).name)
                flush_folder(place)


def adopt(path: Path, place: Path) -> None:
    """Move a file to its place, perhaps on another file system, on disk before it has its name."""
    aside = place.with_name(f"tmp_{place.name}")
    shutil.move(path, aside)
    fd = os.open(aside, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    os.replace(aside, place)
