"""Bubblewrap's argument list read back: which places a command will find, and what each of them is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

BINDS = {
    "--bind": True, "--bind-fd": True, "--bind-try": True, "--dev-bind": True, "--dev-bind-try": True,
    "--ro-bind": False, "--ro-bind-fd": False, "--ro-bind-try": False,
}  # fmt: skip
"""Options that show something of the host, and whether it can be written so."""
DATA = ("--bind-data", "--file", "--ro-bind-data")
WORDS = {
    **dict.fromkeys((*BINDS, *DATA, "--chmod", "--setenv", "--symlink"), 2),
    **dict.fromkeys(
        ("--cap-add", "--cap-drop", "--chdir", "--dev", "--dir", "--hostname", "--mqueue", "--perms", "--proc",
         "--remount-ro", "--seccomp", "--size", "--tmpfs", "--unsetenv"), 1
    ),
}  # fmt: skip
"""How many words follow an option that is known; after another, all that look like none."""


class Is(StrEnum):
    """What stands at a place. `PIN`: buried by a later mount, so that it cannot be reached, nor its path renamed."""

    WRITTEN = "written"
    READ = "read"
    HIDDEN = "hidden"
    SCRATCH = "scratch"
    FILE = "file"
    LINK = "link"
    KERNEL = "kernel"
    EMPTY = "empty"
    PIN = "pin"


@dataclass(frozen=True, slots=True)
class Place:
    """One mount. `source` is the host's path, a file's content or where a link leads; `size` in bytes of scratch."""

    path: str
    kind: Is
    source: str = ""
    size: int = 0


def options(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Each option with the words that belong to it."""
    at = 0
    while at < len(words):
        end = at + 1 + WORDS.get(words[at], 0)
        if words[at] not in WORDS:
            while end < len(words) and not words[end].startswith("--"):
                end += 1
        yield tuple(words[at:end])
        at = end


def places(words: Sequence[str]) -> tuple[Place, ...]:
    """What the command will find, in the order of the mounts; descriptors have to be open still."""
    found: list[Place] = []
    size = 0
    for option, *given in options(words):
        if option == "--size":
            size = int(given[0])
        elif option == "--remount-ro":
            found = [_closed(place) if place.path == given[0] else place for place in found]
        elif place := _place(option, given, size):
            found = [_buried(other, place) for other in found]
            found.append(place)
            size = 0
    return tuple(found)


def _place(option: str, given: list[str], size: int) -> Place | None:
    if option in BINDS:
        source = os.readlink(f"/proc/self/fd/{given[0]}") if option.endswith("-fd") else given[0]
        if source == os.devnull:
            return Place(given[1], Is.HIDDEN)
        return Place(given[1], Is.WRITTEN if BINDS[option] else Is.READ, source)
    if option in DATA:
        return Place(given[1], Is.FILE, os.fsdecode(os.pread(int(given[0]), 4096, 0)).strip())
    if option == "--tmpfs":
        return Place(given[0], Is.SCRATCH, size=size)
    if option == "--symlink":
        return Place(given[1], Is.LINK, given[0])
    if option in {"--dev", "--proc", "--mqueue"}:
        return Place(given[0], Is.KERNEL)
    return Place(given[0], Is.EMPTY) if option == "--dir" else None


def _closed(place: Place) -> Place:
    return replace(place, kind=Is.HIDDEN) if place.kind is Is.SCRATCH else place


def _buried(place: Place, by: Place) -> Place:
    """A place after a mount over it, or over a folder around it."""
    over = by.kind not in {Is.LINK, Is.EMPTY} and f"{place.path}/".startswith(f"{by.path.rstrip('/')}/")
    return replace(place, kind=Is.PIN) if over else place


def paths(found: Iterable[Place], kind: Is) -> list[str]:
    """The paths of one kind, each once."""
    return list(dict.fromkeys(place.path for place in found if place.kind is kind))
