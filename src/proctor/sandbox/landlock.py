"""Landlock by system calls: what this process and its children may reach in the file system and by TCP.

Needs the standard library alone and imports nothing of the package, as `keeper.py` runs it. Numbers and layouts
are those of linux/landlock.h, the same on every architecture.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable, Mapping

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH, RULE_NET_PORT = 1, 2

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
WRITE = (1 << 15) - 1
"""Everything the versions below 5 know of files: reading, making, removing, renaming, truncating."""
DEVICE = READ | WRITE_FILE | TRUNCATE | IOCTL_DEV
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

BIND_TCP, CONNECT_TCP = 1, 2
SCOPE_ABSTRACT_UNIX, SCOPE_SIGNAL = 1, 2

LEAST = 4
"""The first version that knows TCP; Linux 6.7."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def version() -> int:
    """The kernel's Landlock version, 0 where it has none or has it switched off."""
    return max(0, int(_libc.syscall(CREATE_RULESET, None, 0, CREATE_RULESET_VERSION)))


def restrict(rules: Mapping[str, Iterable[str | int]]) -> None:
    """Restricts this process for good: `read`, `write` and `device` are paths, `connect` TCP ports.

    Paths that do not exist are left out. Needs no_new_privs. OSError where the kernel refuses.
    """
    known = version()
    files = WRITE | (IOCTL_DEV if known >= 5 else 0)
    scopes = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL if known >= 6 else 0
    attributes = struct.pack("=QQQ", files, BIND_TCP | CONNECT_TCP, scopes)[: 24 if known >= 6 else 16]
    ruleset = _call(CREATE_RULESET, attributes, len(attributes), 0)
    for kind, access in (("read", READ), ("write", WRITE), ("device", DEVICE)):
        for path in rules.get(kind, ()):
            _allow(ruleset, str(path), access & files)
    for port in rules.get("connect", ()):
        _call(ADD_RULE, ruleset, RULE_NET_PORT, struct.pack("=QQ", CONNECT_TCP, int(port)), 0)
    _call(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(fd).st_mode):
        access &= OF_FILES
    _call(ADD_RULE, ruleset, RULE_PATH_BENEATH, struct.pack("=Qi", access, fd), 0)
    os.close(fd)


def _call(*words: int | bytes) -> int:
    """A system call; numbers as full registers, so that no half of one is left to chance."""
    result = int(_libc.syscall(*(ctypes.c_long(word) if isinstance(word, int) else word for word in words)))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"Landlock: {os.strerror(number)}")
    return result
