"""One repository as a checkpoint holds it, and reading that."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.checkpoint.gitstate import refs
from proctor.checkpoint.gitstate.capture import unescaped
from proctor.checkpoint.gitstate.folder import GitFolder
from proctor.checkpoint.record import raw, tree_entries
from proctor.checkpoint.store.plumbing import Git


@dataclass(slots=True)
class Held:
    """One repository as a checkpoint holds it; `files` by path with mode and the id of the blob."""

    about: dict[str, Any] = field(default_factory=dict)
    refs: dict[bytes, bytes] = field(default_factory=dict)
    files: dict[bytes, tuple[bytes, str]] = field(default_factory=dict)
    index: str = ""
    apart: dict[bytes, tuple[bytes, str]] = field(default_factory=dict)
    beside: dict[str, Any] = field(default_factory=dict)
    all_refs: dict[bytes, bytes] = field(default_factory=dict)
    objects: str = ""


class Shelves:
    """Reads what checkpoints hold of repositories."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def entries(self, tree: str) -> dict[bytes, tuple[bytes, str]]:
        """A tree's entries; {} for none."""
        return tree_entries(self._git.run("cat-file", "tree", tree)) if tree else {}

    def blob(self, oid: str) -> bytes:
        return self._git.run("cat-file", "blob", oid) if oid else b""

    def held(self, state: str, beside: str) -> Held:
        """One repository, from its two trees."""
        found, apart = self.entries(state), self.entries(beside)

        def text(entries: Mapping[bytes, tuple[bytes, str]], name: bytes) -> bytes:
            return self.blob(entries[name][1]) if name in entries else b""

        def files(entries: Mapping[bytes, tuple[bytes, str]]) -> dict[bytes, tuple[bytes, str]]:
            listed = self.entries(entries[b"files"][1]) if b"files" in entries else {}
            return {unescaped(name): kept for name, kept in listed.items()}

        return Held(
            json.loads(text(found, b"about") or b"{}"),
            refs.decode(text(found, b"refs")),
            files(found),
            found.get(b"index", (b"", ""))[1],
            files(apart),
            json.loads(text(apart, b"about") or b"{}"),
            refs.decode(text(apart, b"refs")),
            apart.get(b"objects", (b"", ""))[1],
        )

    def listed(self, objects: str) -> dict[str, tuple[bytes, str]]:
        """The objects of workers that a checkpoint lists."""
        found = {}
        for fan, (_, tree) in self.entries(objects).items():
            for name, kept in self.entries(tree).items():
                found[(fan + name).decode()] = kept
        return found


def lay_out(place: Path, shelves: Shelves, held: Held, head: bytes = refs.HEAD) -> None:
    """Make a git folder that is gone, with what a rollback does not move: settings, hooks, remote-tracking refs. `head`
    is what its HEAD is called."""
    for inner in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "hooks", "info", "modules"):
        (place / inner).mkdir(parents=True, exist_ok=True)
    with GitFolder(place) as folder:
        if borrows := held.beside.get("borrows", ""):
            folder.write(b"objects/info/alternates", raw(borrows))
        for path, (mode, oid) in held.apart.items():
            folder.write(path, shelves.blob(oid), mode)
        for name, value in held.all_refs.items():
            if name not in held.refs and name != refs.HEAD:
                folder.write(name, value + b"\n")
        folder.write(head, held.refs.get(refs.HEAD, b"ref: refs/heads/main") + b"\n")
