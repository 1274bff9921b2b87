"""How a command's failure is kept from whoever runs it: what follows it, what it stands in, what it is told."""

from __future__ import annotations

import re
from collections.abc import Sequence

_QUIET = (
    r"(?:true|:|exit(?: 0)?|return 0|/(?:usr/)?bin/true|test 1|\[ 1 \]|sleep [\d.]+|pwd|date|wait"
    r"|(?:echo|printf)\b(?:>&\d|[^|;&>]|>(?!&)){0,300})"
)
_AFTER = re.compile(
    rf"\s?(?:\|\|\s?(?:[{{(]\s?{_QUIET}\s?;?\s?[}})]|{_QUIET})"
    r"|;\s?(?:true|:|exit 0|return 0|/(?:usr/)?bin/true)"
    r"|(?<=[^&|>])&(?!\S))\s?(?=$|#|['\"`;)}&]|\\$)"
)
_PIPE = re.compile(
    r"(?:\s?\d?>&\d)?\s?(?<!\|)\|&?(?!\|)\s?(?:tee|cat|head|tail|e?grep|sed|awk|less|more|xargs|ts|sort|uniq|wc|cut|tr|jq"
    r"|true|:|column|sponge|logger|tap-\w+|go-junit-report|gotestfmt)\b.{0,500}$"
)
_LISTS = re.compile(
    r"\s(?:--collect-only|--co|--list\w*|-list|--version|--help|-h|-V|-bench|--showConfig|--markers|--fixtures)\b"
)
_PIPE_COUNTS = re.compile(r"\bpipefail\b|PIPESTATUS|pipestatus|^[ \t]*(?:- )?shell:[ \t]*bash[ \t]*$", re.MULTILINE)
_LATER = re.compile(r"\b(?:exit|return)\s+(?:\"?\$|[1-9])|\bfalse\b")
"""What fails in the end all the same."""
_OPTIONS = re.compile(r"\s--(?:exit-zero|ignore-errors|(?:issues-)?exit-code[= ]0|(?:cov-)?fail-under[= ]0)(?![\w.-])")
_MAKE = re.compile(r"((?:\bmake|\$[({]MAKE[)}])(?:\s[\w./=-]{1,80}){0,8}?)\s-(?:i|[a-hj-zA-Z]?i[a-z]?)(?=\s|$)")
_WRAPPED = re.compile(r"^\s*(?:-\s*)?(?:run:\s*)?@?(?:echo|printf|local|export|readonly|declare)\b.{0,200}?\$\(")
_TRAP = re.compile(r"trap\s+(?:(['\"]).{0,300}\bexit(?: 0)?\s*;?\s*\1|(\w+))\s.{0,60}\b(?:EXIT|0|ERR)\b")
_FAILS = re.compile(
    r"\b(?:exit|return)\s+(?:\"?\$|[1-9])|\bexit\s*$|\bfalse\b|\bfail\w*\s*[=+(;]|\bdie\b|\babort\b|=\s*\"?(?:[1-9]|\$\?)"
    r"|\bstatus\b|\brc\b|::error|\bsend\b|\bkill\b|\bset\b.*:=",
    re.IGNORECASE,
)
_BLOCK = 20
"""Lines of an `if` that are looked at."""


def mask(line: str) -> str:
    """What on a line, its spaces squeezed, takes its failure away; "" for nothing."""
    for pattern in (_AFTER, _OPTIONS):
        if (match := pattern.search(line)) and not _LATER.search(line, match.end()):
            return match[0]
    return ""


def bare(line: str) -> str:
    """A line, its spaces squeezed, without what masks its failure."""
    line = _OPTIONS.sub("", _AFTER.sub("", line))
    line = re.sub(r"\s?#\s.*$", "", _MAKE.sub(r"\1", line))
    return line.strip()


def ignores(line: str) -> bool:
    """Whether make is told to go on after every error, and to say nothing of it in the end."""
    return bool(_MAKE.search(line))


def counts_pipes(text: str) -> bool:
    """Whether a script asks for the status of every part of a pipe."""
    return bool(_PIPE_COUNTS.search(text))


def pipe(line: str) -> str:
    """The line without the pipe that its status is lost in; "" if it is not lost."""
    match = _PIPE.search(line)
    if not match or _LISTS.search(line) or counts_pipes(line):
        return ""
    return line[: match.start()].strip()


def swallowed(lines: Sequence[str], number: int) -> str:
    """The command in the condition of an `if` whose branches do not fail, whatever it says; "" for none."""
    match = re.match(
        r"\s*(?:- )?(?:run:\s?)?@?if\s+(!\s+)?(.{1,500}?)\s*(?:;\s*then\b(.{0,500})|\\?)$", lines[number - 1][:1_200]
    )
    if not match:
        return ""
    inside = [match[3] or ""]
    if not re.search(r"\bfi\b", inside[0]):
        for line in lines[number : number + _BLOCK]:
            if re.match(r"\s*fi\b", line):
                break
            inside.append(line[:500])
        else:
            return ""
    spoken = (re.sub(r"\b(?:echo|printf)\b[^;&|]*", "", text) for text in inside)
    return "" if any(map(_FAILS.search, spoken)) else match[2].strip()


def is_wrapped(line: str) -> bool:
    """Whether a command's status is lost in the words of another."""
    return bool(_WRAPPED.match(line))


def leaves(line: str, lines: Sequence[str]) -> bool:
    """Whether a trap ends the script with success."""
    match = _TRAP.search(line)
    if not match:
        return False
    if match[1]:
        return True
    heads = [
        n for n, text in enumerate(lines) if re.match(rf"\s*(?:function\s+)?{match[2]}\s*(?:\(\))?\s*\{{", text[:200])
    ]
    body = "\n".join(text[:300] for text in lines[heads[0] : heads[0] + _BLOCK]).partition("\n}")[0] if heads else ""
    return bool(re.search(r"\bexit 0\b", body)) and "$?" not in body
