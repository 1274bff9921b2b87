"""The store's objects and refs: written here, whole and on disk before anyone names them; read through GitPython."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.checkpoint.plumbing import Git, write_file
from proctor.checkpoint.record import Held, Manifest, Notes
from proctor.errors import Unrecoverable, UsageError

if TYPE_CHECKING:
    from git import Repo

REFS = "refs/proctor/"
FILES, MANIFEST, NOTES, META = b"files", b"manifest", b"notes", b"meta"

_FOLDER, _FILE = b"40000", b"100644"


class Objects:
    """Objects and refs of one store."""

    def __init__(self, git: Git) -> None:
        self._git = git

    # --- writing ------------------------------------------------------------------------------

    def put(self, kind: str, body: bytes) -> str:
        """Store one object; its id. Durable when this returns."""
        data = f"{kind} {len(body)}\0".encode() + body
        oid = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        path = self._git.gitdir / "objects" / oid[:2] / oid[2:]
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            write_file(path, zlib.compress(data, 1))
        return oid

    def put_tree(self, files: str, manifest: Manifest) -> str:
        """Store the tree that is a working tree's identity."""
        return self.put(
            "tree", _tree({FILES: (_FOLDER, files), MANIFEST: (_FILE, self.put("blob", manifest.encode()))})
        )

    def put_commit(self, name: str, held: Held, meta: bytes) -> str:
        """Store the commit of a checkpoint. It has no parent, so that each one can be dropped alone."""
        tree = {
            FILES: (_FOLDER, held.files),
            MANIFEST: (_FILE, self.put("blob", held.manifest.encode())),
            META: (_FILE, self.put("blob", meta)),
            NOTES: (_FILE, self.put("blob", held.notes.encode())),
        }
        who = f"proctor <proctor@localhost> {int(time.time())} +0000"
        body = f"tree {self.put('tree', _tree(tree))}\nauthor {who}\ncommitter {who}\n\n{name}\n"
        return self.put("commit", body.encode())

    def point(self, name: str, commit: str) -> None:
        """Keep a commit under `refs/proctor/NAME`. Durable when this returns."""
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", name):
            raise UsageError(f"{name!r} cannot name a checkpoint: letters, digits, - and _ only")
        self._git.run("update-ref", REFS + name, commit)

    # --- reading ------------------------------------------------------------------------------

    def refs(self) -> dict[str, str]:
        """The names and the commits they keep."""
        out = self._git.run("for-each-ref", "--format=%(refname) %(objectname)", REFS)
        return {ref.removeprefix(REFS): oid for ref, oid in (line.split() for line in out.decode().splitlines())}

    def load(self, commit: str) -> Held:
        """Read the words of a checkpoint, or of a tree that nothing names. One clear error if it cannot be read."""
        with self._reading(commit) as repo:
            tree = self._tree_of(repo, commit)
            manifest = Manifest.decode(self._blob(repo, tree[MANIFEST][1]))
            notes = Notes.decode(self._blob(repo, tree[NOTES][1])) if NOTES in tree else Notes()
            identity = _tree({FILES: tree[FILES], MANIFEST: tree[MANIFEST]})
            oid = hashlib.sha1(b"tree %d\0" % len(identity) + identity, usedforsecurity=False).hexdigest()
            return Held(tree[FILES][1], oid, manifest, notes)

    def meta(self, commit: str) -> bytes:
        """The caller's bytes of a checkpoint."""
        with self._reading(commit) as repo:
            return self._blob(repo, self._tree_of(repo, commit)[META][1])

    def files_of(self, commit: str) -> str:
        """The id of the files' tree of a checkpoint."""
        with self._reading(commit) as repo:
            return self._tree_of(repo, commit)[FILES][1]

    @contextlib.contextmanager
    def _reading(self, commit: str) -> Iterator[Repo]:
        self._git.require()
        from git import Repo  # starts git once when first imported; not every caller reads
        from git.exc import GitError, ODBError

        repo: Repo | None = None
        try:
            repo = Repo(self._git.gitdir, expand_vars=False)
            repo.git.update_environment(**self._git.environment())
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

    def _tree_of(self, repo: Repo, commit: str) -> dict[bytes, tuple[bytes, str]]:
        stream = repo.odb.stream(bytes.fromhex(commit))
        body = stream.read()
        if stream.type == b"commit":
            return self._tree_of(repo, body.split(b"\n", 1)[0].removeprefix(b"tree ").decode())
        return _entries(body)

    @staticmethod
    def _blob(repo: Repo, oid: str) -> bytes:
        return bytes(repo.odb.stream(bytes.fromhex(oid)).read())


def _tree(entries: dict[bytes, tuple[bytes, str]]) -> bytes:
    return b"".join(b"%s %s\0%s" % (mode, name, bytes.fromhex(oid)) for name, (mode, oid) in sorted(entries.items()))


def _entries(body: bytes) -> dict[bytes, tuple[bytes, str]]:
    found = {}
    while body:
        head, _, rest = body.partition(b"\0")
        mode, _, name = head.partition(b" ")
        found[name] = (mode, rest[:20].hex())
        body = rest[20:]
    return found


@contextlib.contextmanager
def temporary_index(git: Git) -> Iterator[Path]:
    """A place for an index of one's own, gone afterwards."""
    path = git.gitdir / f"index.{os.getpid()}.{time.monotonic_ns()}"
    try:
        yield path
    finally:
        for leftover in (path, path.with_name(path.name + ".lock")):
            leftover.unlink(missing_ok=True)
