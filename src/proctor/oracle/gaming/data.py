"""Whether a source is a table and nothing else: literals that are given names, with nothing in it that could be run."""

from __future__ import annotations

import re
from itertools import islice

from proctor.oracle.gaming.change import Change, Language

_MANY = 1_000
"""Literals that a table has which somebody generated; what is large without them has other ways of being so."""
_LITERAL = r""""(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|(?<!\w)\d[\w.]*+"""
_COMMENT = r"|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/"
_KEYWORDS = (
    r"(?!(?:if|else|for|while|loop|match|switch|select|case|try|finally|with|class|def|fn|func|function|lambda|return|yield"
    r"|unsafe|impl|trait|mod|macro_rules|go|defer|import|from|raise|assert|del|global|async|await|do|new|get|set)\b)"
)
_KEY = rf"|{_KEYWORDS}\w++(?=\s*+:(?!=))"
_TYPED = rf"|{_KEYWORDS}\w++(?=\s*+\{{)"
_TABLES = {
    Language.PYTHON: r"""|\#[^\n]*+|\"\"\"[^"]*+\"\"\"|[rbu](?=['"])|\\\n|(?:None|True|False)\b(?!\s*\()|[][{}(),:-]"""
    r"""|from\x20__future__\x20import\x20annotations\n|from\x20typing\x20import\x20Final\n"""
    rf"""|{_KEYWORDS}[a-zA-Z]\w*+\x20*(?::\x20*[\w\[\],\x20.]{{1,100}})?=(?!=)""",
    Language.SCRIPT: rf"""{_COMMENT}|`[^`$\\]*+`|(?:true|false|null|undefined|NaN|Infinity)\b(?!\s*\()"""
    rf"""|[][{{}}(),:;-]{_KEY}"""
    r"""|(?:export\s+)?(?:const|let|var)\s+[\w$]+(?:\s*:\s*[\w<>\[\],|{}:;\x20]{1,200})?\s*=(?![=>])"""
    r"""|export\s+default\b|module\.exports(?:\.\w+)?\s*=(?![=>])|exports\.\w+\s*=(?![=>])|as\s+const\b""",
    Language.GO: rf"""{_COMMENT}|`[^`]*+`|(?:true|false|nil)\b(?!\s*\()|[][{{}}(),:;*-]{_KEY}{_TYPED}"""
    r"""|package\s+\w+|(?:var|const)\s*\((?=\s)|(?:(?:var|const)\s+)?[A-Za-z]\w*(?:\s+[\w\[\]*.]{1,60})?\s*=(?!=)|\.\.\."""
    r"""|map\[[\w\[\]]{1,30}\]|struct\s*\{[\w\s;,\[\]*]{0,2000}\}|type\s+\w+\s+struct\s*\{[\w\s;,\[\]*]{0,2000}\}""",
    Language.RUST: rf"""{_COMMENT}|(?:true|false|None)\b(?!\s*\()|Some(?=\()|[br](?=["'])"""
    rf"""|[][{{}}(),:;&-]{_KEY}{_TYPED}"""
    r"""|(?:pub(?:\([\w\x20]{1,20}\))?\s+)?(?:const|static)\s+\w+\s*:\s*[\w&\[\]()<>,;:'\x20]{1,200}=(?![=>])"""
    r"""|(?:pub\s+)?struct\s+\w+\s*\{[\w\s,:&'<>\[\];]{0,2000}\}"""
    r"""|\#!?\[(?:rustfmt::skip|(?:allow|derive)\([\w:,\x20]{1,100}\))\]""",
}  # fmt: skip
_WHOLE = {language: re.compile(rf"(?:\s++|{_LITERAL}{rest})*+", re.DOTALL) for language, rest in _TABLES.items()}
_ONE = re.compile(_LITERAL, re.DOTALL)


def is_table(change: Change) -> bool:
    """Whether a source, as it is now, holds many literals and no more than what names them. Tests are none."""
    pattern, text = _WHOLE.get(change.language), change.after or ""
    if pattern is None or change.is_test or not pattern.fullmatch(text):
        return False
    return sum(1 for _ in islice(_ONE.finditer(text), _MANY)) >= _MANY
