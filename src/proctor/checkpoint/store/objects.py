"""The store's refs, and its objects as GitPython reads them."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from proctor.checkpoint.record import (
    BESIDE,
    FILES,
    MANIFEST,
    META,
    NOTES,
    STATE,
    Held,
    Manifest,
    Notes,
    identity,
    tree_entries,
)
from proctor.checkpoint.store.hygiene import environment, forget_parent, git_program
from proctor.checkpoint.store.packs import flush_folder
from proctor.checkpoint.store.plumbing import Git
from proctor.errors import Unrecoverable, UsageError

if TYPE_CHECKING:
    from git import Repo

REFS = "refs/proctor/"


def library() -> ModuleType:
    """GitPython. It starts git once when first imported, and not every caller reads."""
    forget_parent()
    os.environ["GIT_PYTHON_GIT_EXECUTABLE"] = git_program()  # it would take the first on PATH
    import git

    return git


class Objects:
    """Objects and refs of one store."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def refs(self) -> dict[str, str]:
        """The names and the commits they keep."""
        out = self._git.run("for-each-ref", "--format=%(refname) %(objectname)", REFS)
        return {ref.removeprefix(REFS): oid for ref, oid in (line.split() for line in out.decode().splitlines())}

    def broken(self) -> dict[str, str]:
        """The names whose refs cannot be read, each with ""."""
        folder = self._git.gitdir / REFS
        return dict.fromkeys(
            {path.name for path in folder.iterdir() if path.suffix != ".lock"} - self.refs().keys(), ""
        )

    def point(self, name: str, commit: str) -> None:
        """Keep a commit under `refs/proctor/NAME`. Durable when this returns."""
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", name):
            raise UsageError(f"{name!r} cannot name a checkpoint: letters, digits, - and _ only")
        place = self._git.gitdir / REFS / name
        aside = self._git.gitdir / "ref"  # among the refs, git would take it for one of them
        with open(aside, "wb") as file:
            file.write(f"{commit}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, place)
        flush_folder(place.parent)

    def load(self, *commits: str) -> list[Held]:
        """Read the words of checkpoints, or of trees that nothing names. One clear error for one that is damaged."""
        with self._reading() as reader:
            return [reader.held(commit) for commit in commits]

    def files_of(self, *commits: str) -> list[str]:
        """The ids of the files' trees of checkpoints."""
        with self._reading() as reader:
            return [reader.files(commit) for commit in commits]

    def meta(self, commit: str) -> bytes:
        """The caller's bytes of a checkpoint."""
        with self._reading() as reader:
            return reader.meta(commit)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[_Reader]:
        self._git.require()
        with library().Repo(self._git.gitdir, expand_vars=False) as repo:
            repo.git.update_environment(**(environment(self._git.gitdir, self._git.workspace) | self._git.borrowing))
            yield _Reader(repo)


class _Reader:
    """Reads checkpoints through one GitPython repository."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo

    def held(self, commit: str) -> Held:
        with self._naming(commit):
            tree = self._tree(commit)
            files = tree[FILES][1]
            manifest = Manifest.decode(self._body(tree[MANIFEST][1]))
            notes = Notes.decode(self._body(tree[NOTES][1])) if NOTES in tree else Notes()
            state, beside = (tree.get(name, (b"", ""))[1] for name in (STATE, BESIDE))
            return Held(files, identity(files, manifest)[0], manifest, notes, state, beside)

    def files(self, commit: str) -> str:
        with self._naming(commit):
            return self._tree(commit)[FILES][1]

    def meta(self, commit: str) -> bytes:
        with self._naming(commit):
            return self._body(self._tree(commit)[META][1])

    @contextlib.contextmanager
    def _naming(self, commit: str) -> Iterator[None]:
        from git.exc import GitError, ODBError

        try:
            yield
        except (GitError, ODBError, KeyError, ValueError, OSError) as error:
            raise Unrecoverable(
                f"{self._repo.git_dir}: checkpoint {commit[:12]} cannot be read, it is missing or damaged; "
                "the others may be whole",
                "checkpoints",
            ) from error

    def _tree(self, oid: str) -> dict[bytes, tuple[bytes, str]]:
        stream = self._repo.odb.stream(bytes.fromhex(oid))
        body = bytes(stream.read())
        if stream.type == b"commit":
            return self._tree(body.split(b"\n", 1)[0].removeprefix(b"tree ").decode())
        return tree_entries(body)

    def _body(self, oid: str) -> bytes:
        return bytes(self._repo.odb.stream(bytes.fromhex(oid)).read())


@contextlib.contextmanager
def temporary_index(git: Git) -> Iterator[dict[str, str]]:
    """The environment of an index of one's own, gone afterwards."""
    path = git.gitdir / f"index.{os.getpid()}.{time.monotonic_ns()}"
    try:
        yield {"GIT_INDEX_FILE": str(path)}
    finally:
        for leftover in (path, Path(f"{path}.lock")):
            leftover.unlink(missing_ok=True)
