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
_LEAVES = re.compile(
    rf"{_BEGIN}(?:set[ \t]+\+[a-z]*[eu]|enable[ \t]+-n|hash[ \t]+-p|exit(?:[ \t]+0)?[ \t]*(?:$|[;&|#}}]))"
    r"|\btrap\b[^\n]*\bexit[ \t]+0\b|\bcommand_not_found_handle\b",
    re.MULTILINE,
)
"""Where a script that reads it is left with success, or heeds no failure from there on."""
_BUILT_IN = frozenset(
    """[ [[ . : builtin cd command exec exit export false let local printf read return set shift source test trap true
    type unset wait md5sum sha1sum sha256sum shasum cksum uniq cut od comm nl tee sleep""".split()  # noqa: SIM905 - a list to read
)


def takes_over(data: bytes) -> bool:
    """Whether a file that a shell reads puts something in the place of what checks judge with, or lets them off."""
    text = data.decode(errors="replace")
    named = {one or other for one, other in _FUNCTION.findall(text)} | set(_ALIAS.findall(text))
    return bool(_LEAVES.search(text) or variables(text)) or any(is_program(one) or one in _BUILT_IN for one in named)
