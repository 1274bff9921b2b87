"""What git cannot say of a file or a folder, read from the tree.

Extended attributes are those that anyone may set (`user.*`) and access lists; what the system or a privileged program
keeps there (`security.*`, `trusted.*`) is no part of a tree.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field

from proctor.checkpoint.record import Attributes, common_mode, linked

ATTRIBUTES_LIMIT = 16 << 20
"""Bytes of extended attributes that one checkpoint holds."""

ACCESS = ("system.posix_acl_access", "system.posix_acl_default")
_NONE = (errno.ENOTSUP, errno.ENOENT, errno.ENOTDIR, errno.ENODATA, errno.EACCES, errno.EPERM)


@dataclass(slots=True)
class Words:
    """What git cannot say of some files: see `Manifest`. `odd` are those of which there is something to say."""

    modes: dict[bytes, int] = field(default_factory=dict)
    links: dict[bytes, bytes] = field(default_factory=dict)
    attributes: dict[bytes, Attributes] = field(default_factory=dict)
    odd: set[bytes] = field(default_factory=set)


def words_of(top: bytes, paths: Iterable[bytes], umask: int) -> Words:
    """Look at the files at these paths. What is no regular file, or gone, is passed over."""
    words = Words()
    names: dict[tuple[int, int], list[bytes]] = {}
    for path in paths:
        place = top + b"/" + path
        with contextlib.suppress(OSError):
            state = os.lstat(place)
            if not stat.S_ISREG(state.st_mode):
                continue
            if stat.S_IMODE(state.st_mode) != common_mode(state.st_mode, umask):
                words.modes[path] = stat.S_IMODE(state.st_mode)
            if state.st_nlink > 1:
                names.setdefault((state.st_dev, state.st_ino), []).append(path)
                words.odd.add(path)
            if attributes := attributes_of(place):
                words.attributes[path] = attributes
    words.links = linked(names.values())
    words.odd |= words.modes.keys() | words.attributes.keys()
    return words


def is_odd(place: bytes, state: os.stat_result, umask: int) -> bool:
    """Whether there is something to say of a file that git cannot. It is never forgotten: adding a name, a mode, or
    an attribute changes the time by which a file is looked at again."""
    if not stat.S_ISREG(state.st_mode):
        return False
    uncommon = stat.S_IMODE(state.st_mode) != common_mode(state.st_mode, umask)
    return uncommon or state.st_nlink > 1 or bool(attributes_of(place))


def attributes_of(place: bytes) -> Attributes:
    """The extended attributes of a file or folder that a checkpoint holds."""
    try:
        names = os.listxattr(place, follow_symlinks=False)
        wanted = sorted(name for name in names if name.startswith("user.") or name in ACCESS)
        return tuple((name, os.getxattr(place, name, follow_symlinks=False)) for name in wanted)
    except OSError as error:
        if error.errno in _NONE:
            return ()
        raise


def within_limit(attributes: dict[bytes, Attributes]) -> dict[bytes, Attributes]:
    """Those that one checkpoint holds, the first by their paths."""
    size, found = 0, {}
    for path in sorted(attributes):
        size += sum(len(name) + len(value) for name, value in attributes[path])
        if size > ATTRIBUTES_LIMIT:
            break
        found[path] = attributes[path]
    return found
