"""The system calls that are closed inside, as a BPF program for the kernel's seccomp.

A list of what is denied: whatever else a tool needs, also what kernels will learn later, goes on working.
The namespaces and the lack of capabilities already hold nearly all of it. What the list adds is that the kernel's
code behind these calls cannot be reached at all, whatever faults it has.

Nor can a worker leave a program behind that runs with its owner's rights for whoever starts it: calls that give a file
the setuid or the setgid bit are refused.

A call is refused with the error that makes programs fall back or give up in words, never by killing them: ENOSYS
where a program has another way (`clone3` and `openat2`, whose flags lie in memory that BPF cannot read; io_uring; calls
by another architecture's numbers), EPERM otherwise. Needs the standard library alone and imports nothing of the
package, as `keeper.py` uses it. Numbers are those of the kernel's tables; both architectures are little-endian.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable
from functools import cache

LD, JEQ, JGE, JSET, RET = 0x20, 0x15, 0x35, 0x45, 0x06
"""BPF: load a word, jump when equal, when not less, when it has any of these bits; return."""

Step = tuple[int, int, int, int]
"""One instruction: code, how many to skip when the comparison holds, and when not, operand."""

NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""Where in the kernel's `seccomp_data` they lie. Of arguments the low half is looked at: the kernel takes no more
of those that are compared here, so that bits set above it change nothing."""

ALLOW, ERROR = 0x7FFF0000, 0x00050000
X32 = 0x40000000
"""From here on x86_64 numbers mean the x32 ABI."""

NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
NEW_TIME = 0x80
"""CLONE_NEWTIME: of `unshare`; in `clone` the bits of the signal at the end."""
PERSONALITIES = 0x8 | 0x20000 | 0x40000
"""PER_LINUX32, UNAME26, ADDR_NO_RANDOMIZE, as setarch, debuggers and sanitizers ask for."""
QUERY = 0xFFFFFFFF
TERMINAL = (0x5412, 0x541C, 0x5423)
"""TIOCSTI, TIOCLINUX: typing into a terminal; TIOCSETD: loading line disciplines."""
SET_USER, SET_GROUP = 0o4000, 0o2000
"""S_ISUID and S_ISGID, of a file's mode."""
CREATES = 0x40 | 0x400000
"""O_CREAT and __O_TMPFILE: without them no opening looks at its mode."""
INIT = 1
"""The sandbox's own first process: bubblewrap, with whose death all inside dies. It is the same user's."""
UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
NETLINKS = (0, 15)
"""NETLINK_ROUTE, by which programs learn of interfaces, and NETLINK_KOBJECT_UEVENT, of devices."""

# fmt: off
X86_64 = {
    "openat": 257, "ioctl": 16, "open": 2, "creat": 85,
    "chmod": 90, "fchmod": 91, "fchmodat": 268, "fchmodat2": 452, "mknod": 133, "mknodat": 259,
    "clone": 56, "unshare": 272, "personality": 135, "socket": 41, "socketpair": 53,
    "clone3": 435, "openat2": 437,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_getfd": 438,
    "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "lookup_dcookie": 212,
    "add_key": 248, "request_key": 249, "keyctl": 250,
    "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442, "open_tree_attr": 467,
    "setns": 308, "open_by_handle_at": 304,
    "init_module": 175, "delete_module": 176, "finit_module": 313, "kexec_load": 246, "kexec_file_load": 320,
    "settimeofday": 164, "adjtimex": 159, "clock_settime": 227, "clock_adjtime": 305,
    "swapon": 167, "swapoff": 168, "reboot": 169, "acct": 163, "quotactl": 179, "quotactl_fd": 443, "syslog": 103,
    "vhangup": 153, "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173,
}
AARCH64 = {
    "openat": 56, "ioctl": 29, "fchmod": 52, "fchmodat": 53, "fchmodat2": 452, "mknodat": 33,
    "clone": 220, "unshare": 97, "personality": 92, "socket": 198, "socketpair": 199,
    "clone3": 435, "openat2": 437,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "pidfd_getfd": 438,
    "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "lookup_dcookie": 18,
    "add_key": 217, "request_key": 218, "keyctl": 219,
    "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442, "open_tree_attr": 467,
    "setns": 268, "open_by_handle_at": 265,
    "init_module": 105, "delete_module": 106, "finit_module": 273, "kexec_load": 104, "kexec_file_load": 294,
    "settimeofday": 170, "adjtimex": 171, "clock_settime": 112, "clock_adjtime": 266,
    "swapon": 224, "swapoff": 225, "reboot": 142, "acct": 89, "quotactl": 60, "quotactl_fd": 443, "syslog": 116,
    "vhangup": 58, "sethostname": 161, "setdomainname": 162,
}
# fmt: on
MACHINES = {"x86_64": (0xC000003E, X86_64), "aarch64": (0xC00000B7, AARCH64)}
"""By the kernel's name of the machine: the number of its ABI, and of the calls that are denied or looked into.

Those that are looked into stand first, the most frequent before the others: all else the kernel decides once for each
number and remembers."""

ABSENT = frozenset(("clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register"))
"""Answered with ENOSYS, as by a kernel that lacks them."""

MODES = {"creat": 1, "chmod": 1, "fchmod": 1, "mknod": 1, "fchmodat": 2, "fchmodat2": 2, "mknodat": 2}
"""Which argument is a file's mode. Of folders that are made the kernel does not take these bits."""


class UnknownMachine(Exception):
    """There is no table for this machine."""


@cache
def program(unix_sockets: bool = True, machine: str | None = None, shared: bool = False) -> bytes:
    """The filter for `bwrap --seccomp` and `restrict`; UnknownMachine where there is none.

    Without `unix_sockets` none can be made but pairs, which lead nowhere and which runtimes need for their children.
    `shared` lets the setgid bit be set, of which nothing tells here whether it is a folder's.
    """
    machine = machine or (os.uname().machine if struct.calcsize("P") == 8 else "a 32-bit program")
    if machine not in MACHINES:
        raise UnknownMachine(machine)
    abi, calls = MACHINES[machine]
    lent = SET_USER if shared else SET_USER | SET_GROUP
    looked_into = {
        "clone": [_load(0), *_having(NEW_NAMESPACES, _error(errno.EPERM)), _ret(ALLOW)],
        "unshare": [_load(0), *_having(NEW_NAMESPACES | NEW_TIME, _error(errno.EPERM)), _ret(ALLOW)],
        "personality": [
            _load(0),
            *_equal(QUERY, _ret(ALLOW)),
            *_having(~PERSONALITIES & 0xFFFFFFFF, _error(errno.EPERM)),
            _ret(ALLOW),
        ],
        "openat": _opening(2, lent),
        "open": _opening(1, lent),
        **{name: _mode(at, lent) for name, at in MODES.items()},
        "ioctl": [_load(1), *(step for word in TERMINAL for step in _equal(word, _error(errno.EPERM))), _ret(ALLOW)],
        "socket": _sockets((INET, INET6, UNIX) if unix_sockets else (INET, INET6)),
        "socketpair": _sockets((UNIX,)),
        "ptrace": _other_than_init(1),
        "process_vm_readv": _other_than_init(0),
        "process_vm_writev": _other_than_init(0),
    }
    steps = [(LD, 0, 0, ARCHITECTURE), (JEQ, 1, 0, abi), _error(errno.ENOSYS), (LD, 0, 0, NUMBER)]
    if machine == "x86_64":
        steps += [(JGE, 0, 1, X32), _error(errno.ENOSYS)]
    for name, number in calls.items():
        refusal = [_error(errno.ENOSYS if name in ABSENT else errno.EPERM)]
        steps += _equal(number, *looked_into.get(name, refusal))
    steps.append(_ret(ALLOW))
    return assembled(steps)


def assembled(steps: Iterable[Step]) -> bytes:
    """Instructions as the kernel takes them."""
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def restrict(unix_sockets: bool, shared: bool = False) -> None:
    """Puts this process and its children under the filter for good. Needs no_new_privs; OSError when refused."""
    text = program(unix_sockets, shared=shared)
    steps = ctypes.create_string_buffer(text, len(text))
    header = struct.pack("@HP", len(text) // 8, ctypes.addressof(steps))
    libc = ctypes.CDLL(None, use_errno=True)
    set_seccomp, with_filter = 22, 2
    if libc.prctl(set_seccomp, ctypes.c_ulong(with_filter), header, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")


def _load(argument: int) -> Step:
    return (LD, 0, 0, ARGUMENTS + 8 * argument)


def _ret(action: int) -> Step:
    return (RET, 0, 0, action)


def _error(number: int) -> Step:
    return _ret(ERROR | number)


def _equal(value: int, *block: Step) -> list[Step]:
    return [(JEQ, 0, len(block), value), *block]


def _having(bits: int, *block: Step) -> list[Step]:
    return [(JSET, 0, len(block), bits), *block]


def _other_than_init(argument: int) -> list[Step]:
    """Programs may trace their children, not the one that ends them."""
    return [_load(argument), *_equal(INIT, _error(errno.EPERM)), _ret(ALLOW)]


def _mode(argument: int, denied: int) -> list[Step]:
    return [_load(argument), *_having(denied, _error(errno.EPERM)), _ret(ALLOW)]


def _opening(flags: int, denied: int) -> list[Step]:
    """The mode comes after the flags, and counts only where a file may be made."""
    return [_load(flags), *_having(CREATES, *_mode(flags + 1, denied)), _ret(ALLOW)]


def _sockets(families: tuple[int, ...]) -> list[Step]:
    """Sockets of these families; with INET among them, of netlink those by which programs look around."""
    block = [_load(0), *(step for family in families for step in _equal(family, _ret(ALLOW)))]
    if INET in families:
        kinds = [step for kind in NETLINKS for step in _equal(kind, _ret(ALLOW))]
        block += _equal(NETLINK, _load(2), *kinds, _error(errno.EPROTONOSUPPORT))
    return [*block, _error(errno.EAFNOSUPPORT)]
