"""What a file does that scripts of checks read into their own shell (`. ./local.sh`). Pure.

A function in it stands for the program of its name from there on. What such a file gives may be the work; what it puts
in the place of what a check judges with is not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile

from proctor.oracle.toolchains.loaders import variables
from proctor.oracle.toolchains.shellcode import Run, Step, When, run
from proctor.oracle.toolchains.tools import is_program

_FUNCTION = re.compile(
    r"(?:^|[;&|{}(]|\b(?:then|do|else)\b)[ \t]*"
    r"(?:function[ \t]+([^\s(){};&|\"'$]+)|([^\s(){};&|\"'$#]+)[ \t]*\([ \t]*\))",
    re.MULTILINE,
)
"""Where the text as a whole cannot be read."""
_BUILT_IN = frozenset(
    """[ [[ . : builtin cd command exec exit export false let local printf read return set shift source test trap true
    type unset wait md5sum sha1sum sha256sum shasum cksum uniq cut od comm nl tee sleep
    command_not_found_handle""".split()  # noqa: SIM905 - a list to read
)
_NOTHING = frozenset({"true", ":", "echo", "printf", "cat", "env", "exit"})
"""Programs that succeed whatever was to be checked."""
_ENDS = frozenset({"EXIT", "0", "ERR", "DEBUG", "RETURN"})
_HEEDING = frozenset({"errexit", "pipefail"})
"""The options without which a shell goes on behind what failed."""


def takes_over(data: bytes) -> bool:
    """Whether a file that a shell reads puts something in the place of what checks judge with, lets them off, or goes
    on as something that cannot be told from it."""
    text = data.decode(errors="replace")
    made = run(text)
    goes_on = not made.clear or any(step.words[0] in (None, "eval", "source", ".") for step in made.steps)
    return bool(goes_on or _leaving(made.steps, text) or _replaced(text, made) or variables(text))


def lets_off(text: str) -> tuple[list[Step], set[str]]:
    """The commands with which a shell that reads a text is left with success, or heeds no failure up to its end (what
    cannot be read may be one); and the programs and builtins in whose place it runs another from there on."""
    made = run(text)
    unread = [] if made.clear else [Step((None,), When(), "")]
    return _leaving(made.steps, text) + unread, _replaced(text, made)


def _leaving(steps: list[Step], text: str) -> list[Step]:
    found, on_surely, on = [], set[str](), set[str]()
    saved = "$-" in text
    for step in reversed(steps):
        if step.words[0] == "return" and step.when.sure:
            on_surely, on = set(), set()
        if _leaves(step) or _set(step, "+") - (on_surely if step.when.sure and not saved else on):
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
        case ("exec", *told) if programs := [word or "" for word in told if not (word or "").startswith(("-", "{"))]:
            return not step.when.asked and (step.when.sure or programs[0].rpartition("/")[2] in _NOTHING)
        case ("trap", *told) if any(word is None or word.upper().removeprefix("SIG") in _ENDS for word in told[1:]):
            unknown = ("exit", None) if "$?" not in "".join(filter(None, told)) else ()
            own = (one for one in step.last if one.line == step.line)
            return any(one.words[1:] and _leaves(one) for one in step.last) or unknown in (one.words[:2] for one in own)
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


def _replaced(text: str, made: Run) -> set[str]:
    names = set(made.functions)
    if not made.whole:
        names |= {one or other for one, other in _FUNCTION.findall(text)}
    for step in made.steps:
        match step.words:
            case ("alias" | "enable" | "hash", *told):
                names |= {word.partition("=")[0] for word in told if word}
    return {name for name in names if is_program(name) or name in _BUILT_IN}
