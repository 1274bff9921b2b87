"""The store's refs, and its objects as GitPython reads them."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.checkpoint.hygiene import environment, forget_parent
from proctor.checkpoint.plumbing import Git
from proctor.checkpoint.record import FILES, MANIFEST, META, NOTES, Held, Manifest, Notes, identity, tree_entries
from proctor.errors import Unrecoverable, UsageError

if TYPE_CHECKING:
    from git import Repo

REFS = "refs/proctor/"


class Objects:
    """Objects and refs of one store."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def refs(self) -> dict[str, str]:
        """The names and the commits they keep."""
        out = self._git.run("for-each-ref", "--format=%(refname) %(objectname)", REFS)
        return {ref.removeprefix(REFS): oid for ref, oid in (line.split() for line in out.decode().splitlines())}

    def point(self, name: str, commit: str) -> None:
        """Keep a commit under `refs/proctor/NAME`. Durable when this returns."""
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", name):
            raise UsageError(f"{name!r} cannot name a checkpoint: letters, digits, - and _ only")
        self._git.run("update-ref", REFS + name, commit)

    def load(self, commit: str) -> Held:
        """Read the words of a checkpoint, or of a tree that nothing names. One clear error if it cannot be read."""
        with self._reading(commit) as repo:
            tree = _tree_of(repo, commit)
            files = tree[FILES][1]
            manifest = Manifest.decode(_body(repo, tree[MANIFEST][1]))
            notes = Notes.decode(_body(repo, tree[NOTES][1])) if NOTES in tree else Notes()
            return Held(files, identity(files, manifest)[0], manifest, notes)

    def meta(self, commit: str) -> bytes:
        """The caller's bytes of a checkpoint."""
        with self._reading(commit) as repo:
            return _body(repo, _tree_of(repo, commit)[META][1])

    def files_of(self, commit: str) -> str:
        """The id of the files' tree of a checkpoint."""
        with self._reading(commit) as repo:
            return _tree_of(repo, commit)[FILES][1]

    @contextlib.contextmanager
    def _reading(self, commit: str) -> Iterator[Repo]:
        self._git.require()
        forget_parent()
        from git import Repo  # starts git once when first imported; not every caller reads
        from git.exc import GitError, ODBError

        repo: Repo | None = None
        try:
            repo = Repo(self._git.gitdir, expand_vars=False)
            repo.git.update_environment(**environment(self._git.gitdir, self._git.workspace))
            yield repo
        except (GitError, ODBError, KeyError, ValueError, OSError) as error:
            raise Unrecoverable(
                f"{self._git.gitdir}: checkpoint {commit[:12]} cannot be read, it is missing or damaged; "
                "the others may be whole",
                "checkpoints",
            ) from error
        finally:
            if repo is not None:
                repo.git.clear_cache()


@contextlib.contextmanager
def temporary_index(git: Git) -> Iterator[dict[str, str]]:
    """The environment of an index of one's own, gone afterwards."""
    path = git.gitdir / f"index.{os.getpid()}.{time.monotonic_ns()}"
    try:
        yield {"GIT_INDEX_FILE": str(path)}
    finally:
        for leftover in (path, Path(f"{path}.lock")):
            leftover.unlink(missing_ok=True)


def _tree_of(repo: Repo, commit: str) -> dict[bytes, tuple[bytes, str]]:
    stream = repo.odb.stream(bytes.fromhex(commit))
    body = bytes(stream.read())
    if stream.type == b"commit":
        return _tree_of(repo, body.split(b"\n", 1)[0].removeprefix(b"tree ").decode())
    return tree_entries(body)


def _body(repo: Repo, oid: str) -> bytes:
    return bytes(repo.odb.stream(bytes.fromhex(oid)).read())
