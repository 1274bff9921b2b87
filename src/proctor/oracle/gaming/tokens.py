"""Sources and tests as tokens, whatever their layout: what all that looks into code by more than lines compares."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, islice

from proctor.oracle.gaming.change import Language

Value = str | int | float
_S, _G, _R, _P = Language.SCRIPT, Language.GO, Language.RUST, Language.PYTHON
MOST = 80_000
"""Pieces of a file that are read: more than code has that is small enough to be looked at."""

_C_COMMENT = r"//[^\n]*|/\*(?:.*?\*/|.*)"
_COMMENT = {_P: r"#[^\n]*", _S: _C_COMMENT, _G: _C_COMMENT, _R: _C_COMMENT}
_QUOTED = r'"(?:\\.|[^"\\\n])*"'
_STRINGS = {
    _P: rf"""[a-zA-Z]{{0,2}}(?:\"{{3}}(?:.*?\"{{3}}|.*)|'''(?:.*?'''|.*)|{_QUOTED}|'(?:\\.|[^'\\\n])*')""",
    _S: rf"""{_QUOTED}|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`"""
    r"""|(?:(?<=[(,=:\[])|(?<=[(,=:\[]\s))/(?![/*])(?:\\.|\[[^\]\n]{0,200}\]|[^/\\\n\[]){1,400}/[a-z]*""",
    _G: rf"{_QUOTED}|`[^`]*`|'(?:\\[^'\n]{{1,9}}|[^'\\\n])'",
    _R: r"""b?r(?P<raw>\#{0,3})"(?:.*?"(?P=raw)|.*)|b?"(?:\\.|[^"\\])*"|b?'(?:\\[^'\n]{1,9}|[^'\\\n])'""",
}
_TOKEN = {
    language: re.compile(
        rf"(?P<comment>{_COMMENT[language]})|(?P<string>{strings})"
        r"|(?P<number>(?:0[xX][\da-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)\w*)"
        r"|(?P<word>[^\W\d][\w$]*(?:!(?=[(\[{]))?|\$\w*)"
        r"|(?P<sign>\\[^\n]|===|!==|==|!=|<=|>=|=>|:=|->|::|&&|\|\||[^\w\s])",
        re.DOTALL,
    )
    for language, strings in _STRINGS.items()
}
"""What is escaped outside of a text is one piece, and a pattern has its most: else what never ends would be read again
from each of its quotes."""
_LONG = 40
"""Figures of a number that nobody works out."""
_BEFORE = frozenset({"return", "case", "in", "of"})
"""Words before a number that is less than nothing."""
_VALUE_WORDS = frozenset({"true", "false", "True", "False", "None", "null", "nil", "undefined", "NaN"})
_OUTPUT = re.compile(r"//\s*(?:Unordered )?[Oo]utput:")
_PREFIX = re.compile(r"^(?:[a-zA-Z]{0,2}r?#*)(?=[\"'`])")
_SUFFIX = re.compile(r"_?(?:[iu](?:8|16|32|64|128|size)|f32|f64|n|j)$")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of code. `text` is the same for what means the same; `value` tells values from all else."""

    text: str
    raw: str
    line: int
    value: bool = False
    literal: Value | None = None
    """What a text or a number says by itself: a pattern, or a text that is filled in, says none."""

    @property
    def is_word(self) -> bool:
        return not self.value and (self.text[:1].isalpha() or self.text[:1] in ("_", "$"))


def is_cut(text: str, language: Language) -> bool:
    """Whether a file is more than is read of it."""
    return len(text) > MOST and next(islice(_TOKEN[language].finditer(text), MOST, None), None) is not None


@lru_cache(maxsize=64)
def lexed(source: str, language: Language, most: int = MOST) -> tuple[Token, ...]:
    """A source as tokens, comments and what makes no difference left out."""
    ends = list(accumulate(len(line) for line in source.splitlines(keepends=True)))
    tokens: list[Token] = []
    for match in islice(_TOKEN[language].finditer(source), most):
        raw, line = match[0], bisect_right(ends, match.start()) + 1
        if match["comment"]:
            if language is _G and _OUTPUT.match(raw):
                said = _output(source, match.start())
                tokens.append(Token(f"s:{said}", said, line, True))
        elif match["string"]:
            said = _inside(raw)
            is_plain = raw[0] != "/" and not (raw[0] == "`" and "${" in raw)
            text = said.replace("\\'", "'").replace('\\"', '"')
            tokens.append(Token(f"s:{text}", raw, line, True, said if is_plain else None))
        elif match["number"]:
            minus = "-" if tokens and tokens[-1].text == "-" and (len(tokens) < 2 or _begins(tokens[-2])) else ""
            if minus:
                tokens.pop()
            number = _number(raw)
            size = 0 if isinstance(number, str) or len(raw) >= _LONG else number
            text = f"n:{minus}{_plain(number)}"
            tokens.append(Token(text, f"{minus}{raw}", line, True, -size if minus else size))
        elif match["word"]:
            tokens.append(Token(raw, raw, line, raw in _VALUE_WORDS))
        else:
            if raw in ")]}" and tokens and tokens[-1].text == ",":
                tokens.pop()
            tokens.append(Token(raw, raw, line))
    return tuple(tokens)


def _begins(token: Token) -> bool:
    return not token.value and token.text not in (")", "]") and (not token.is_word or token.text in _BEFORE)


def _inside(raw: str) -> str:
    """What stands between the quotes of a string."""
    raw = _PREFIX.sub("", raw).rstrip("#")
    for quote in ('"""', "'''", '"', "'", "`"):
        if raw.startswith(quote) and raw.endswith(quote) and len(raw) >= 2 * len(quote):
            return raw[len(quote) : -len(quote)]
    return raw


def _number(raw: str) -> Value:
    """What a number says; its text where that is none."""
    plain = raw.replace("_", "") if raw[:2].lower() in ("0x", "0b") else _SUFFIX.sub("", raw).replace("_", "")
    with suppress(ValueError):
        return int(plain, 0 if plain[1:2].isalpha() else 10)
    with suppress(ValueError):
        return float(plain)
    return plain


def _plain(number: Value) -> str:
    whole = isinstance(number, float) and number.is_integer() and abs(number) < 1e15
    return str(int(number) if whole else number)


def _output(text: str, start: int) -> str:
    """What a Go example says that it prints: the comment from `Output:` on."""
    said = []
    for line in text[start : start + 4_000].splitlines():
        if not line.strip().startswith("//"):
            break
        said.append(line.strip().lstrip("/").strip())
    return "\n".join(said).partition(":")[2].strip()


def closing(tokens: Sequence[Token], at: int) -> int:
    """The place after the bracket that closes the one at a place."""
    depth = 0
    for place in range(at, len(tokens)):
        if not tokens[place].value:
            depth += (tokens[place].text in ("(", "[", "{")) - (tokens[place].text in (")", "]", "}"))
            if depth == 0:
                return place + 1
    return len(tokens)
