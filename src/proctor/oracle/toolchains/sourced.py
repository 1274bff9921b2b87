"""What a file does that scripts of checks read into their own shell (`. ./local.sh`). Pure.

A function in it stands for the program of its name from there on. What such a file gives may be the work; what it puts
in the place of what a check judges with is not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile

from proctor.oracle.toolchains.loaders import variables
from proctor.oracle.toolchains.shellcode import Step, When, steps
from proctor.oracle.toolchains.tools import is_program

_FUNCTION = re.compile(
    r"(?:^|[;&|{}(]|\b(?:then|do|else)\b)[ \t]*"
    r"(?:function[ \t]+([^\s(){};&|\"'$]+)|([^\s(){};&|\"'$#]+)[ \t]*\([ \t]*\))",
    re.MULTILINE,
)
_BUILT_IN = frozenset(
    """[ [[ . : builtin cd command exec exit export false let local printf read return set shift source test trap true
    type unset wait md5sum sha1sum sha256sum shasum cksum uniq cut od comm nl tee sleep
    command_not_found_handle""".split()  # noqa: SIM905 - a list to read
)
_NOTHING = frozenset({"true", ":", "echo", "printf", "cat", "exit"})
"""Programs that succeed whatever was to be checked."""
_ENDS = frozenset({"EXIT", "0", "ERR", "DEBUG", "RETURN", "SIGEXIT"})
_HEEDING = frozenset({"errexit", "pipefail"})
"""The options without which a shell goes on behind what failed."""


def takes_over(data: bytes) -> bool:
    """Whether a file that a shell reads puts something in the place of what checks judge with, lets them off, or goes
    on as something that cannot be told from it."""
    text = data.decode(errors="replace")
    run = steps(text)
    return bool(_leaving(run) or any(map(_goes_on, run)) or _replaced(text, run) or variables(text))


def leaving(text: str) -> list[Step]:
    """The commands with which a shell that reads a text is left with success, or heeds no failure up to its end."""
    return _leaving(steps(text))


def replaced(text: str) -> set[str]:
    """The programs and builtins that checks are made of, and in whose place a shell that reads a text runs another."""
    return _replaced(text, steps(text))


def _leaving(run: list[Step]) -> list[Step]:
    found, on_surely, on = [], set[str](), set[str]()
    for step in reversed(run):
        if _leaves(step) or _set(step, "+") - (on_surely if step.when.sure else on):
            found.append(step)
        switched = _set(step, "-")
        on |= switched
        on_surely |= switched if step.when.sure else set()
    return found[::-1]


def _set(step: Step, sign: str) -> set[str]:
    """The options of `_HEEDING` that a step sets (`-`) or takes back (`+`)."""
    match step.words:
        case ("set", *told):
            words = [*takewhile(lambda word: word != "--", (word or "" for word in told))]
        case ("shopt", *told):
            back = any(word and word.startswith("-") and "u" in word for word in told)
            return {name for name in _HEEDING if name in told and back is (sign == "+")}
        case _:
            return set()
    named = {name for flags, name in pairwise([*words, ""]) if flags.startswith(sign) and flags.endswith("o")}
    short = any(flags.startswith(sign) and "e" in flags and flags[1:2] != sign for flags in words)
    return {*(named & _HEEDING), *(("errexit",) if short else ())}


def _leaves(step: Step) -> bool:
    match step.words:
        case ("exit", *told):
            return _succeeds(told, step.when)
        case ("exec", program, *_):
            return step.when.sure or (program in _NOTHING and not step.when.asked)
        case ("trap", str(action), *signals) if not _ENDS.isdisjoint(signals):
            return "$?" not in action and any(one.words[1:] and _leaves(one) for one in steps(action))
    return False


def _succeeds(status: Sequence[str | None], when: When) -> bool:
    """Whether `exit` with a status, or with none, may let a check off that would go on or fail without it."""
    if when.asked:
        return False
    if not status:
        return not when.failing
    if status[0] is None:
        return when.sure
    return not status[0].isdecimal() or int(status[0]) % 256 == 0


def _goes_on(step: Step) -> bool:
    return step.words[0] in (None, "eval", "source", ".")


def _replaced(text: str, run: list[Step]) -> set[str]:
    names = {one or other for one, other in _FUNCTION.findall(text)}
    for step in run:
        match step.words:
            case ("alias" | "enable" | "hash", *told):
                names |= {word.partition("=")[0] for word in told if word}
    return {name for name in names if is_program(name) or name in _BUILT_IN}
