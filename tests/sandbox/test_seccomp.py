from __future__ import annotations

import errno
import json
import os
import struct
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import Unrecoverable
from proctor.sandbox import choose, seccomp
from proctor.sandbox.policy import GATEWAY_PORT, Policy
from proctor.sandbox.run import Completed

from .conftest import Shell

Attempt = Callable[..., Completed]

PROGRAM = Path(__file__).with_name("calls.py")
MACHINE = os.uname().machine
ABI, NUMBERS = seccomp.MACHINES[MACHINE]
GETPID = {"x86_64": 39, "aarch64": 172}[MACHINE]
ELSEWHERE = 1
"""A pointer that leads nowhere: a call that is let through gets no further than its arguments."""

NEW = {
    "ns": 0x20000,
    "cgroup": 1 << 25,
    "uts": 1 << 26,
    "ipc": 1 << 27,
    "user": 1 << 28,
    "pid": 1 << 29,
    "net": 1 << 30,
}
HIGH = 0xDEADBEEF << 32
BAD_TYPE = 0xFFF0
"""Of a socket: refused before its family is looked at."""
FAMILIES = {
    "x25": 9, "key": 15, "packet": 17, "rds": 21, "can": 29, "tipc": 30, "bluetooth": 31, "alg": 38, "vsock": 40,
    "smc": 43, "xdp": 44, "none": 99,
}  # fmt: skip

# Arguments that change nothing, whoever calls. A list of what nobody but root may even try stands below.
SIMPLE: dict[str, list[int]] = {
    "clone3": [ELSEWHERE, 0], "io_uring_setup": [1, ELSEWHERE], "io_uring_enter": [-1, 0, 0, 0, 0, 0],
    "io_uring_register": [-1, 0, 0, 0], "bpf": [9999, ELSEWHERE, 0], "perf_event_open": [ELSEWHERE, 0, -1, -1, 0],
    "openat2": [-1, ELSEWHERE, ELSEWHERE, 24],
    "userfaultfd": [0xFFFF], "lookup_dcookie": [0, ELSEWHERE, 0], "add_key": [ELSEWHERE] * 5,
    "request_key": [ELSEWHERE] * 4, "keyctl": [9999, 0, 0, 0, 0], "mount": [ELSEWHERE] * 3 + [0, 0],
    "umount2": [ELSEWHERE, 0xFFFF], "pivot_root": [ELSEWHERE, ELSEWHERE], "chroot": [ELSEWHERE],
    "open_tree": [-1, ELSEWHERE, 0xFFFFFFF0], "move_mount": [-1, ELSEWHERE, -1, ELSEWHERE, 0xFFFF],
    "fsopen": [ELSEWHERE, 0xFF], "fsconfig": [-1, 99, 0, 0, 0], "fsmount": [-1, 0xFFFF, 0],
    "fspick": [-1, ELSEWHERE, 0xFFFF], "mount_setattr": [-1, ELSEWHERE, 0xFFFF, 0, 0],
    "open_tree_attr": [-1, ELSEWHERE, 0xFFFFFFF0, 0, 0], "setns": [-1, 0], "open_by_handle_at": [-1, ELSEWHERE, 0],
    "init_module": [ELSEWHERE, 0, ELSEWHERE], "delete_module": [ELSEWHERE, 0], "finit_module": [-1, ELSEWHERE, 0],
    "kexec_load": [0, 0, 0, 0xFFFF], "kexec_file_load": [-1, -1, 0, 0, 0xFFFF], "settimeofday": [ELSEWHERE, 0],
    "adjtimex": [ELSEWHERE], "clock_settime": [0, ELSEWHERE], "clock_adjtime": [0, ELSEWHERE],
    "swapon": [ELSEWHERE, 0], "swapoff": [ELSEWHERE], "reboot": [0, 0, 0, 0], "acct": [ELSEWHERE],
    "quotactl": [-1, ELSEWHERE, 0, 0], "quotactl_fd": [-1, 0, 0, 0], "syslog": [10, 0, 0], "vhangup": [],
    "pidfd_getfd": [-1, 0, 0],
    "sethostname": [ELSEWHERE, -1], "setdomainname": [ELSEWHERE, -1], "iopl": [99], "ioperm": [0, 0, 1],
}  # fmt: skip
NOT_FOR_ALL = {
    "perf_event_open", "bpf", "userfaultfd", "io_uring_setup", "syslog",  # where a kernel's switch is set so
    "pivot_root", "move_mount", "fsopen", "fsmount", "fspick", "open_by_handle_at", "mount", "umount2", "chroot",
    "init_module", "delete_module", "finit_module", "kexec_load", "kexec_file_load", "settimeofday", "clock_settime",
    "swapon", "swapoff", "reboot", "acct", "quotactl", "vhangup", "sethostname", "setdomainname", "iopl", "ioperm",
    *(f"{call} {name}" for call in ("clone", "unshare") for name in NEW), "mount_setattr", "setns", "unshare time",
}  # fmt: skip
"""For an ordinary user the kernel's own check may say no first: the control tells nothing there."""
NOT_IN_ALL_KERNELS = {"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "x32", "openat2"}

MODES: dict[str, Callable[[int], list[int]]] = {
    "chmod": lambda mode: [ELSEWHERE, mode],
    "fchmod": lambda mode: [-1, mode],
    "fchmodat": lambda mode: [-1, ELSEWHERE, mode],
    "fchmodat2": lambda mode: [-1, ELSEWHERE, mode, 0],
    "mknod": lambda mode: [ELSEWHERE, mode, 0],
    "mknodat": lambda mode: [-1, ELSEWHERE, mode, 0],
    "creat": lambda mode: [ELSEWHERE, mode],
    "open": lambda mode: [ELSEWHERE, os.O_CREAT | os.O_WRONLY, mode],
    "openat": lambda mode: [-1, ELSEWHERE, os.O_TMPFILE | os.O_WRONLY, mode],
}
"""How a file's mode is given to each call. Let through, they fail for where it should be."""
MODES = {name: arguments for name, arguments in MODES.items() if name in NUMBERS}
SET_ID = {"setuid": 0o4755, "setgid": 0o102755, "both, high bits": 0o6000 | HIGH}

MEMORY = ("process_vm_readv", "process_vm_writev")

DENIED: dict[str, tuple[int, list[int]]] = {
    **{name: (NUMBERS[name], arguments) for name, arguments in SIMPLE.items() if name in NUMBERS},
    **{f"clone {name}": (NUMBERS["clone"], [flag | 17, 0, 0, 0, 0]) for name, flag in NEW.items()},
    **{f"unshare {name}": (NUMBERS["unshare"], [flag]) for name, flag in NEW.items()},
    "unshare time": (NUMBERS["unshare"], [0x80]),
    "unshare high bits": (NUMBERS["unshare"], [NEW["user"] | HIGH]),
    "personality": (NUMBERS["personality"], [0x400000]),
    **{f"ioctl {word:#x}": (NUMBERS["ioctl"], [-1, word, 0]) for word in seccomp.TERMINAL},
    **{f"ioctl {word:#x} high bits": (NUMBERS["ioctl"], [-1, word | HIGH, 0]) for word in seccomp.TERMINAL},
    **{f"socket {name}": (NUMBERS["socket"], [family, BAD_TYPE, 0]) for name, family in FAMILIES.items()},
    **{
        f"{name} {kind}": (NUMBERS[name], arguments(mode))
        for name, arguments in MODES.items()
        for kind, mode in SET_ID.items()
    },
    "ptrace of init": (NUMBERS["ptrace"], [1, 1, 0, 0]),  # to look at what is not traced: harmless where it is not ours
    "ptrace of init, high bits": (NUMBERS["ptrace"], [1, 1 | HIGH, 0, 0]),
    **{f"{name} of init": (NUMBERS[name], [1, ELSEWHERE, 0, ELSEWHERE, 0, 0]) for name in MEMORY},
    "socket high bits": (NUMBERS["socket"], [38 | HIGH, BAD_TYPE, 0]),
    "socket generic netlink": (NUMBERS["socket"], [16, BAD_TYPE, 16]),
    "socketpair inet": (NUMBERS["socketpair"], [2, BAD_TYPE, 0, ELSEWHERE]),
    **({"x32": (GETPID | seccomp.X32, [])} if MACHINE == "x86_64" else {}),
}
ALLOWED: dict[str, tuple[int, list[int]]] = {
    "unshare files": (NUMBERS["unshare"], [0x400 | 0x200]),
    "personality query": (NUMBERS["personality"], [0xFFFFFFFF]),
    "personality no randomization": (NUMBERS["personality"], [0x40000]),
    "clone": (NUMBERS["clone"], [17, 0, 0, 0, 0]),
    **{f"socket {family}": (NUMBERS["socket"], [family, 2, 0]) for family in (1, 2, 10)},
    "socket route": (NUMBERS["socket"], [16, 3, 0]),
}
NOWHERE: dict[str, tuple[int, list[int]]] = {
    **{name: (NUMBERS[name], arguments(0o101777)) for name, arguments in MODES.items()},
    "openat without a mode": (NUMBERS["openat"], [-1, ELSEWHERE, os.O_WRONLY, -1]),
    "openat of a folder": (NUMBERS["openat"], [-1, ELSEWHERE, os.O_DIRECTORY, 0o6000]),
    **({"open without a mode": (NUMBERS["open"], [ELSEWHERE, 0, -1])} if "open" in NUMBERS else {}),
}
"""Let through, for an error of their own."""


def expected(name: str) -> str:
    call = name.partition(" ")[0]
    if call in seccomp.ABSENT or call == "x32":
        return "ENOSYS"
    if call.startswith("socket"):
        return "EPROTONOSUPPORT" if "netlink" in name else "EAFNOSUPPORT"
    return "EPERM"


@pytest.fixture
def calls(policy: Policy, attempt: Attempt, tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Makes each call in a child of its own under a backend; the error's name, or a number, or the signal."""

    def go(kind: str, rows: dict[str, tuple[int, list[int]]], **changes: Any) -> dict[str, str]:
        (policy.workspace / "calls.py").write_text(PROGRAM.read_text())
        argv = [sys.executable, "-I", "-S", "calls.py", json.dumps(rows)]
        done = attempt(choose.choose(kind), replace(policy, **changes), *argv)
        said = (tmp_path / "said").read_text()
        assert done.exit.code == 0, said
        result: dict[str, str] = json.loads(said)
        return result

    return go


@pytest.mark.parametrize("kind", ["bwrap", "weak"])
def test_each_denied_call_is_refused_inside_and_not_outside(calls: Callable[..., dict[str, str]], kind: str) -> None:
    assert set(NUMBERS) == {name for name in SIMPLE if name in NUMBERS} | {name.split()[0] for name in DENIED} - {"x32"}
    inside = calls(kind, DENIED)
    assert inside == {name: expected(name) for name in DENIED}
    bare = calls("none", DENIED)
    same = {name for name in DENIED if bare[name] == inside[name]}
    assert same - NOT_IN_ALL_KERNELS <= (NOT_FOR_ALL if os.geteuid() else set())


@pytest.mark.parametrize("kind", ["bwrap", "weak"])
def test_what_tools_need_of_the_same_calls_works(calls: Callable[..., dict[str, str]], kind: str) -> None:
    assert [name for name, said in calls(kind, ALLOWED).items() if not said.isdigit()] == []


@pytest.mark.parametrize("kind", ["bwrap", "weak"])
def test_other_modes_and_those_that_do_not_count_are_let_through(
    calls: Callable[..., dict[str, str]], kind: str
) -> None:
    inside = calls(kind, NOWHERE)
    assert inside == calls("none", NOWHERE)
    assert set(inside.values()) <= {"EFAULT", "EBADF", "ENOSYS"}


@pytest.mark.skipif(MACHINE != "x86_64", reason="one 64-bit machine alone has another's calls")
def test_calls_by_the_numbers_of_another_architecture_do_not_exist(calls: Callable[..., dict[str, str]]) -> None:
    getpid = {"i386": (20, [])}
    inside, bare = calls("bwrap", getpid)["i386"], calls("none", getpid)["i386"]
    assert bare.isdigit() or bare == "signal 11"  # a kernel without them
    assert inside == ("ENOSYS" if bare.isdigit() else bare)


@pytest.mark.parametrize("kind", ["bwrap", "weak"])
def test_a_contract_may_deny_unix_sockets_but_no_pairs(calls: Callable[..., dict[str, str]], kind: str) -> None:
    rows = {"socket": (NUMBERS["socket"], [1, 1, 0]), "pair": (NUMBERS["socketpair"], [1, 1, 0, 0])}
    assert calls(kind, rows) == {"socket": "3", "pair": "EFAULT"}
    assert calls(kind, rows, unix_sockets=False) == {"socket": "EAFNOSUPPORT", "pair": "EFAULT"}


def test_without_unix_sockets_python_and_the_gateway_s_port_work(shell: Shell) -> None:
    script = f"""
import asyncio, socket, subprocess, sys
async def main():
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(7)", stdout=subprocess.PIPE)
    return (await process.communicate())[0]
print(asyncio.run(main()), socket.create_connection(("127.0.0.1", {GATEWAY_PORT}), 5).getpeername()[1])
"""
    assert shell(f"exec {sys.executable} -c '{script}'", unix_sockets=False, listen=True) == (
        0,
        f"b'7\\n' {GATEWAY_PORT}\n",
    )


def test_a_machine_without_a_table_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp, "MACHINES", {})
    seccomp.program.cache_clear()
    try:
        for kind in ("bwrap", "weak"):
            with pytest.raises(Unrecoverable, match=f"not known for {MACHINE}: run on") as refusal:
                choose.choose(kind)
            assert refusal.value.word == "sandbox"
        assert choose.choose("none").name == "none"
    finally:
        seccomp.program.cache_clear()


def run_bpf(program: bytes, number: int, abi: int, arguments: tuple[int, ...]) -> int:
    """What the kernel's interpreter would return for a call; fails on what its verifier refuses."""
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, abi, 0, *(word & (2**64 - 1) for word in arguments))
    steps = list(struct.iter_unpack("<HBBI", program))
    assert len(steps) <= 4096
    at = accumulator = 0
    while True:
        code, if_true, if_false, operand = steps[at]
        at += 1
        if code == 0x20:
            assert operand % 4 == 0
            (accumulator,) = struct.unpack_from("<I", data, operand)
        elif code == 0x06:
            return operand
        else:
            holds = {
                0x15: accumulator == operand,
                0x35: accumulator >= operand,
                0x45: bool(accumulator & operand),
            }[code]
            at += if_true if holds else if_false


def answer(machine: str, unix: bool, number: int, abi: int, arguments: tuple[int, ...]) -> int:
    """What the filter is meant to say: 0 for yes, or an error."""
    own, table = seccomp.MACHINES[machine]
    if abi != own or (machine == "x86_64" and number & 0xFFFFFFFF >= 0x40000000):
        return errno.ENOSYS
    name = next((name for name, given in table.items() if given == number), None)
    first, second, third, fourth = (word & 0xFFFFFFFF for word in arguments[:4])
    if name is None:
        return 0
    if name in ("open", "openat"):
        flags, mode = (second, third) if name == "open" else (third, fourth)
        return errno.EPERM if flags & 0o20000100 and mode & 0o6000 else 0
    if name in ("creat", "chmod", "fchmod", "mknod"):
        return errno.EPERM if second & 0o6000 else 0
    if name in ("fchmodat", "fchmodat2", "mknodat"):
        return errno.EPERM if third & 0o6000 else 0
    if name in ("ptrace", *MEMORY):
        return errno.EPERM if (second if name == "ptrace" else first) == 1 else 0
    if name in ("clone", "unshare"):
        flags = sum(NEW.values()) | (0x80 if name == "unshare" else 0)
        return errno.EPERM if first & flags else 0
    if name == "personality":
        return 0 if first == 0xFFFFFFFF or first | 0x60008 == 0x60008 else errno.EPERM
    if name == "ioctl":
        return errno.EPERM if second in (0x5412, 0x541C, 0x5423) else 0
    if name == "socketpair":
        return 0 if first == 1 else errno.EAFNOSUPPORT
    if name == "socket":
        if first == 16:
            return 0 if third in (0, 15) else errno.EPROTONOSUPPORT
        return 0 if first in (2, 10) or (first == 1 and unix) else errno.EAFNOSUPPORT
    return (
        errno.ENOSYS
        if name in ("clone3", "openat2", *(f"io_uring_{part}" for part in ("setup", "enter", "register")))
        else 1
    )


def said(machine: str, unix: bool, number: int, abi: int, arguments: tuple[int, ...]) -> int:
    result = run_bpf(seccomp.program(unix, machine), number, abi, arguments)
    return 0 if result == 0x7FFF0000 else result - 0x00050000


ANY = st.integers(0, 2**64 - 1)
WORD = st.one_of(
    ANY,
    st.sampled_from([1, 2, 10, 16, 17, 0, 15, 0x5412, 0x541C, 0x5423, 0xFFFFFFFF, 0x40000, *NEW.values()]),
    st.sampled_from([0o4755, 0o2000, 0o1777, 0o644, os.O_CREAT, os.O_TMPFILE, os.O_DIRECTORY]),
    st.builds(
        lambda word, high: word | high << 32, st.sampled_from([1, 16, 0x5412, NEW["user"]]), st.integers(1, 2**32 - 1)
    ),
)


@pytest.mark.parametrize("machine", seccomp.MACHINES)
@pytest.mark.parametrize("unix", [True, False])
def test_every_number_has_the_answer_it_is_meant_to_have(machine: str, unix: bool) -> None:
    abi, table = seccomp.MACHINES[machine]
    assert len(set(table.values())) == len(table)
    for number in (*range(700), -1, 0x3FFFFFFF, 0x40000000, 0x40000038, 2**31):
        for arguments in (
            (0,) * 6,
            (1, 1, 0, 0, 0, 0),
            (16, 0x5412, 15, 0, 0, 0),
            (NEW["user"], 0x541C, 1, 0, 0, 0),
            (0, 0o4755, 0o2755, 0o4755, 0, 0),
        ):
            for given_abi in (abi, 0x40000003, 0x40000028):
                row = (machine, unix, number, given_abi, arguments)
                assert said(*row) == answer(*row), row


@given(
    st.sampled_from(sorted(seccomp.MACHINES)),
    st.booleans(),
    st.sampled_from(["clone", "unshare", "personality", "ioctl", "socket", "socketpair", "ptrace", *MEMORY, *MODES]),
    st.tuples(WORD, WORD, WORD, WORD, ANY, ANY),
)
def test_of_arguments_the_half_that_the_kernel_takes_decides(
    machine: str, unix: bool, name: str, arguments: tuple[int, ...]
) -> None:
    abi, table = seccomp.MACHINES[machine]
    row = (machine, unix, table.get(name, 0), abi, arguments)
    assert said(*row) == answer(*row)


@pytest.mark.parametrize("machine", seccomp.MACHINES)
def test_a_file_is_opened_within_the_program_s_first_steps(machine: str) -> None:
    abi, table = seccomp.MACHINES[machine]
    beginning = seccomp.program(True, machine)[: 14 * 8]
    assert run_bpf(beginning, table["openat"], abi, (0, ELSEWHERE, os.O_CLOEXEC, 0, 0, 0)) == seccomp.ALLOW
    assert run_bpf(beginning, table["openat"], abi, (0, ELSEWHERE, os.O_CREAT, 0o644, 0, 0)) == seccomp.ALLOW


def test_calls_newer_than_the_architectures_have_one_number_in_both() -> None:
    common = {name for name, number in seccomp.X86_64.items() if number >= 424}
    assert {name: seccomp.AARCH64[name] for name in common} == {name: seccomp.X86_64[name] for name in common}
    assert set(seccomp.X86_64) - set(seccomp.AARCH64) == {
        "iopl", "ioperm", "open", "creat", "chmod", "mknod",
    }  # fmt: skip
