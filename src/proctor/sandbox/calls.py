"""A seccomp filter asked what it would do: the program itself is run, not the list that it was made from."""

from __future__ import annotations

import os
import struct

from proctor.sandbox import seccomp

FIRST_ARGUMENTS = range(3)
"""Tried with each call. Among them is a family of sockets that every filter of ours lets be made."""


def known() -> dict[str, tuple[int, int]]:
    """The calls that a filter of ours may close, with the machine's number of its ABI and of the call."""
    abi, calls = seccomp.MACHINES[os.uname().machine]
    return {name: (abi, number) for name, number in sorted(calls.items())}


def closed(program: bytes) -> tuple[list[str], list[str]]:
    """The calls that the filter refuses always, and those that it refuses for some of their arguments."""
    refused = {
        name: all(denies(program, *call, argument) for argument in FIRST_ARGUMENTS) for name, call in known().items()
    }
    return [name for name, always in refused.items() if always], [name for name in refused if not refused[name]]


def makes_unix_sockets(program: bytes) -> bool:
    return not denies(program, *known()["socket"], seccomp.UNIX)


def denies(program: bytes, abi: int, number: int, argument: int) -> bool:
    """Whether the filter refuses a call with that first argument and zeros after it."""
    data = struct.pack("=iIQ6Q", number, abi, 0, argument, 0, 0, 0, 0, 0)
    steps = list(struct.iter_unpack("=HBBI", program))
    at = loaded = 0
    while True:
        code, holds, fails, operand = steps[at]
        at += 1
        if code == seccomp.RET:
            return bool(operand != seccomp.ALLOW)
        if code == seccomp.LD:
            loaded = struct.unpack_from("=I", data, operand)[0]
        else:
            compared = {seccomp.JEQ: loaded == operand, seccomp.JGE: loaded >= operand, seccomp.JSET: loaded & operand}
            at += holds if compared[code] else fails
