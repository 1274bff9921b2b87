"""The refs of a repository as names and values, however they are stored: one file each, or packed in one. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

HEAD = b"HEAD"
PACKED = b"packed-refs"

_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PEELED = re.compile(rb"\^[0-9a-f]{40,64}")
_BROKEN = re.compile(rb"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")


def value_of(body: bytes, is_link: bool = False) -> bytes | None:
    """What a ref's file says: an id, or `ref: NAME`; None if it is no ref."""
    if is_link:
        return b"ref: " + body if body.startswith(b"refs/") and is_name(body) else None
    if body.startswith(b"ref:"):
        name = body[4:].strip()
        return b"ref: " + name if is_name(name) else None
    word = body.strip()
    return word if _ID.fullmatch(word) else None


def is_name(name: bytes) -> bool:
    """Whether a name can be a ref's, and is a plain path in the git folder."""
    parts = name.split(b"/")
    return (
        name.startswith(b"refs/")
        and len(parts) > 1
        and not _BROKEN.search(name)
        and not any(not part or part.startswith(b".") or part.endswith((b".lock", b".")) for part in parts)
    )


def packed(body: bytes) -> dict[bytes, bytes]:
    """The refs of a `packed-refs` file."""
    found = {}
    for line in body.split(b"\n"):
        oid, _, name = line.partition(b" ")
        if _ID.fullmatch(oid) and is_name(name):
            found[name] = oid
    return found


def is_packed(body: bytes) -> bool:
    """Whether git would read a `packed-refs` file."""
    return body[-1:] in (b"", b"\n") and all(
        line.startswith(b"#") or _PEELED.fullmatch(line) or packed(line) for line in body.split(b"\n")[:-1]
    )


def without(body: bytes, gone: Callable[[bytes], bool]) -> bytes:
    """A `packed-refs` file without some of its refs, and without what was peeled of them."""
    kept, dropping = [], False
    for line in body.split(b"\n"):
        if line.startswith(b"^"):
            if not dropping:
                kept.append(line)
            continue
        name = line.partition(b" ")[2]
        dropping = not line.startswith(b"#") and bool(name) and gone(name)
        if not dropping:
            kept.append(line)
    return b"\n".join(kept)


def encode(refs: Mapping[bytes, bytes]) -> bytes:
    """One line each: the name, then the value."""
    return b"".join(b"%s %s\n" % (name, value) for name, value in sorted(refs.items()))


def decode(body: bytes) -> dict[bytes, bytes]:
    found = {}
    for line in body.splitlines():
        name, _, value = line.partition(b" ")
        found[name] = value
    return found


def commit_of(refs: Mapping[bytes, bytes], name: bytes = HEAD) -> str:
    """The id that a ref leads to in the end, "" for none."""
    for _ in range(5):
        value = refs.get(name, b"")
        if not value.startswith(b"ref: "):
            return value.decode()
        name = value[5:]
    return ""


def branch_of(refs: Mapping[bytes, bytes]) -> bytes:
    """The branch that HEAD names, b"" when it is detached."""
    value = refs.get(HEAD, b"")
    return value[5:] if value.startswith(b"ref: ") else b""


def ids(refs: Mapping[bytes, bytes]) -> set[str]:
    """All ids that refs name."""
    return {value.decode() for value in refs.values() if not value.startswith(b"ref: ")}


def moved(before: Mapping[bytes, bytes], after: Mapping[bytes, bytes]) -> list[str]:
    """What changed of the refs, a few words each: HEAD first, then branches, then others."""
    names = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    lines = []
    for name in sorted(names, key=lambda name: (name != HEAD, not name.startswith(b"refs/heads/"), name)):
        old, new = (_short(refs.get(name, b"")) for refs in (before, after))
        said = f"{old} -> {new}" if old and new else f"created at {new}" if new else f"removed, was {old}"
        lines.append(f"{_called(name)} {said}")
    return lines


def _called(name: bytes) -> str:
    said = name.decode("utf-8", "backslashreplace")
    for start, word in (("refs/heads/", "branch "), ("refs/tags/", "tag "), ("refs/stash", "stash"), ("refs/", "")):
        if said.startswith(start):
            return word + said.removeprefix(start)
    return said


def _short(value: bytes) -> str:
    if value.startswith(b"ref: "):
        return value[5:].decode("utf-8", "backslashreplace").removeprefix("refs/heads/")
    return value[:8].decode()
