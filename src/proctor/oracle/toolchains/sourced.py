"""What a file does that scripts of checks read into their own shell (`. ./local.sh`). Pure.

A function in it stands for the program of its name from there on. What such a file gives may be the work; what it puts
in the place of what a check judges with is not.
"""

from __future__ import annotations

import re

from proctor.oracle.toolchains.loaders import variables
from proctor.oracle.toolchains.tools import is_program

_BEGIN = r"(?:^|[;&|{}(]|\b(?:then|do|else)\b)[ \t]*"
_FUNCTION = re.compile(
    rf"{_BEGIN}(?:function[ \t]+([^\s(){{}};&|\"'$]+)|([^\s(){{}};&|\"'$#]+)[ \t]*\([ \t]*\))", re.MULTILINE
)
_ALIAS = re.compile(rf"{_BEGIN}alias[ \t]+(?:-g[ \t]+)?[\"']?([^\s=\"']+)=", re.MULTILINE)
_FIRST = r"(?:(?:builtin|command|time|!|(?:if|elif|while|until)\b|[a-zA-Z_]\w*=[^\s;&|]*)[ \t]+)*"
_SUCCEEDS = r"(?![ \t]+(?:[1-9]|[1-9]\d|1\d\d)(?:[ \t]|$|[;&|)}]))"
_ENDS = re.compile(
    rf"(?:{_BEGIN}|\)[ \t]*){_FIRST}"
    rf"(?:exit\b{_SUCCEEDS}|exec\b(?![ \t]+[3-9]\d*[<>])|(?:eval|source|\.)(?=[ \t]|$)"
    r"|set\b[^\n;&|]*[ \t]\+(?:[a-z]*[eu]|o\b)|shopt[ \t]+-\w*u\w*o|(?<!=\()\"?[`$](?!\(\())"
    rf"|\btrap\b[^\n]{{0,500}}\b(?:exit\b{_SUCCEEDS}|exec\b|eval\b)",
    re.MULTILINE,
)
"""Where it may be left with success, or goes on as something else: commands that are not in a function which the file
itself does not call. A command that is put together may be any."""
_BODY = re.compile(rf"{_FUNCTION.pattern}\s*\{{(.{{0,4000}}?)(?:^\}}|(?<=[;\s])\}}[ \t]*$)", re.MULTILINE | re.DOTALL)
_LARGEST = 8 << 10
"""Characters of a file of which functions are told from the rest."""
_REMARK = re.compile(r"^[ \t]*#[^\n\"'`]*$", re.MULTILINE)
_QUOTED = re.compile(r"([\"'])(\w*)\1|\\(?:\n|(?=\w))")
_LEAVES = re.compile(
    rf"{_BEGIN}(?:set[ \t]+\+[a-z]*[eu]|enable[ \t]+-n|hash[ \t]+-p|exit(?:[ \t]+0)?[ \t]*(?:$|[;&|#}}]))"
    r"|\btrap\b[^\n]{0,500}\bexit[ \t]+0\b|\bcommand_not_found_handle\b",
    re.MULTILINE,
)
"""Where a script that reads it is left with success, or heeds no failure from there on."""
_LEFT = re.compile(
    r"^(?:exit(?:[ \t]+0+)?|exec[ \t]+(?:(?:/usr)?/bin/)?(?:true|:|echo|printf)\b[^\n]*"
    r"|(?P<off>set[ \t]+\+(?:[a-z]*e[a-z]*|o[ \t]+errexit)))[ \t]*(?:[;#][^\n]*)?$",
    re.MULTILINE,
)
"""The same where no condition stands before it."""
_WRITTEN = re.compile(r"(?<=<)<-?[ \t]*([\"']?)(\w+)\1[^\n]*\n.*?^\t*\2$", re.MULTILINE | re.DOTALL)
"""Text that a command is given."""
_STRICT = re.compile(r"^set[ \t]+-(?:[a-z]*e|o[ \t]+errexit)", re.MULTILINE)
_BUILT_IN = frozenset(
    """[ [[ . : builtin cd command exec exit export false let local printf read return set shift source test trap true
    type unset wait md5sum sha1sum sha256sum shasum cksum uniq cut od comm nl tee sleep""".split()  # noqa: SIM905 - a list to read
)


def takes_over(data: bytes) -> bool:
    """Whether a file that a shell reads puts something in the place of what checks judge with, or lets them off."""
    text = data.decode(errors="replace")
    named = {one or other for one, other in _FUNCTION.findall(text)} | set(_ALIAS.findall(text))
    return bool(_LEAVES.search(text) or _ENDS.search(_run(text)) or variables(text)) or any(
        is_program(one) or one in _BUILT_IN for one in named
    )


def leaving(text: str) -> list[str]:
    """The lines, run whatever the case as a file is read, that leave with success or heed no failure up to its end."""
    run = _run(_WRITTEN.sub("", text.replace("\r", "")))
    return [at[0].rstrip() for at in _LEFT.finditer(run) if not (at["off"] and _STRICT.search(run, at.end()))]


def _run(text: str) -> str:
    """What of a file is run as it is read: without functions that it does not call, and with plain words as a shell
    has them (`ex"it"`)."""
    text = _QUOTED.sub(r"\2", _REMARK.sub("", text))
    if len(text) > _LARGEST:
        return text
    bodies = {one[1] or one[2]: one[3] for one in _BODY.finditer(text)}
    text = _BODY.sub("\n", text)
    while called := [name for name in bodies if name in text]:
        text = "\n".join((text, *map(bodies.pop, called)))
    return text
