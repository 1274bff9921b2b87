"""A checkpoint for elsewhere: one commit of its files alone, in a bundle.

What is only for the operator's eyes stays at home: small ignored files, what is hidden from workers, the record.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from proctor.checkpoint.record import Held, is_below, raw, text
from proctor.checkpoint.store.plumbing import Git, disk_faults, joined, split, write_file
from proctor.errors import UsageError
from proctor.text import safe_line
from proctor.trees import scratch_folder

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Exported:
    """What was made: the commit, how many files it has, and lines about what is not in it."""

    commit: str
    files: int
    left: tuple[str, ...]


def bundle(git: Git, held: Held, file: Path, *, name: str, message: str, hidden: Collection[str]) -> Exported:
    """Write a bundle with one commit on the branch `name`. `hidden` are files and folders that stay at home.

    The file is there whole or not at all; one that is there already is refused, and one that would itself be part of
    the next checkpoint.
    """
    place, state = Path(os.path.realpath(file.parent)), git.gitdir.parent
    if place.is_relative_to(os.path.realpath(git.workspace)) and not place.is_relative_to(os.path.realpath(state)):
        raise UsageError(f"{file}: in the workspace, so that it would be part of it; name a file outside")
    if os.path.lexists(file):
        raise UsageError(f"{file}: there is something already; name another file")
    if not file.parent.is_dir():
        raise UsageError(f"{file.parent}: no such folder; make it first")
    with scratch_folder("proctor-export-") as scratch, disk_faults(file.parent):
        (scratch / "empty").mkdir()
        own = Git(scratch / "empty", scratch / "git")
        own.create()
        write_file(
            own.gitdir / "objects" / "info" / "alternates",
            b"".join(os.fsencode(folder) + b"\n" for folder in (git.gitdir / "objects", *git.lenders)),
        )
        write_file(own.gitdir / "HEAD", f"ref: refs/heads/{name}\n".encode())
        own.run("read-tree", held.files)
        names = split(own.run("ls-files", "-z"))
        away = {raw(path.rstrip("/")) for path in hidden}
        secret = {path for path in names if path in held.notes.ignored or is_below(path, away)}
        if secret:
            own.run("update-index", "-z", "--force-remove", "--stdin", input=joined(secret))
        commit = own.run("commit-tree", own.run("write-tree").decode().strip(), input=message.encode()).decode().strip()
        own.run("update-ref", f"refs/heads/{name}", commit)
        aside = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        try:
            own.run("bundle", "create", "-q", os.path.abspath(aside), "HEAD", f"refs/heads/{name}")
            os.link(aside, file)  # never over something that came meanwhile
        except FileExistsError:
            raise UsageError(f"{file}: there is something already; name another file") from None
        finally:
            aside.unlink(missing_ok=True)
    return Exported(commit, len(names) - len(secret), left_out(held, secret))


def left_out(held: Held, secret: Collection[bytes]) -> tuple[str, ...]:
    """What of a checkpoint a commit of its files does not have, in words. `secret` are files that were kept back."""
    words, notes = held.manifest, held.notes
    kinds: tuple[tuple[str, Collection[bytes]], ...] = (
        ("yours alone, ignored or hidden", secret),
        ("never kept: ignored", notes.closed | notes.left),
        ("never kept", notes.skipped.keys()),
        ("FIFOs, which git cannot hold", words.fifos.keys()),
        ("empty folders, which git cannot hold", words.empty),
        ("modes and attributes beyond git's", words.modes.keys() | words.attributes.keys()),
        ("repositories of their own, as plain files", notes.repositories),
        ("second names of one file, files of their own there", words.links.keys()),
    )
    return tuple(f"{said}: {named(paths)}" for said, paths in kinds if paths)


def named(paths: Collection[bytes]) -> str:
    """A few of the paths, safe to show."""
    known = sorted(paths)
    more = f" and {len(known) - _NAMED:,} more" if len(known) > _NAMED else ""
    return ", ".join(safe_line(text(path), 200) for path in known[:_NAMED]) + more
