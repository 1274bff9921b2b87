"""Words as a shell spells them, and what they say. What only a running shell knows is a hole."""

from __future__ import annotations

import re

from proctor.approvals.globs import HOLE

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}


def quoted(text: str) -> str:
    """What stands between double quotes, its escapes gone."""
    return re.sub(r"\\(?:\n|([$`\"\\]))", lambda match: match[1] or "", text)


def unquoted(text: str) -> str:
    """A bare word: its escapes are gone, what the shell looks up in the file system is a hole."""
    if text.startswith("~"):
        text = HOLE + text.partition("/")[1] + text.partition("/")[2]
    text = re.sub(r"(?<=[=:])~", HOLE, text)
    return re.sub(r"\\(\n)|\\(.)|[*?]|\[(?=.*\])", _character, text, flags=re.DOTALL)


def _character(match: re.Match[str]) -> str:
    if match[1]:
        return ""
    return match[2] or HOLE


def decoded(text: str) -> str:
    """What stands in `$'…'`."""

    def one(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xuU" and len(code) > 1:
            return _char(int(code[1:], 16))
        if code[0] in "01234567":
            return _char(int(code, 8) & 0xFF)
        if code[0] == "c" and len(code) > 1:
            return _char(ord(code[1]) & 0x1F)
        return _ESCAPES.get(code, code if code in "\\'\"?" else f"\\{code}")

    pattern = r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)"
    return re.sub(pattern, one, text, flags=re.DOTALL)


def _char(number: int) -> str:
    return HOLE if number == 0 or number > 0x10FFFF or 0xD800 <= number < 0xE000 else chr(number)
