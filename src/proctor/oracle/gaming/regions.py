"""Tests as tokens and statements, whatever their layout: what the look at expected values compares."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, islice

from proctor.oracle.gaming.change import Language
from proctor.oracle.gaming.syntax import functions, parsed

_S, _G, _R, _P = Language.SCRIPT, Language.GO, Language.RUST, Language.PYTHON
LANGUAGES = (_P, _S, _G, _R)
MOST = 80_000
"""Pieces of a file that are read: more than code has that is small enough to be looked at."""

_C_COMMENT = r"//[^\n]*|/\*(?:.*?\*/|.*)"
_COMMENT = {_P: r"#[^\n]*", _S: _C_COMMENT, _G: _C_COMMENT, _R: _C_COMMENT}
_QUOTED = r'"(?:\\.|[^"\\\n])*"'
_STRINGS = {
    _P: rf"""[a-zA-Z]{{0,2}}(?:\"{{3}}(?:.*?\"{{3}}|.*)|'''(?:.*?'''|.*)|{_QUOTED}|'(?:\\.|[^'\\\n])*')""",
    _S: rf"""{_QUOTED}|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`"""
    r"""|(?:(?<=[(,=:\[])|(?<=[(,=:\[]\s))/(?![/*])(?:\\.|\[[^\]\n]*\]|[^/\\\n\[])+/[a-z]*""",
    _G: rf"{_QUOTED}|`[^`]*`|'(?:\\[^'\n]{{1,9}}|[^'\\\n])'",
    _R: r"""b?r(?P<raw>\#{0,3})"(?:.*?"(?P=raw)|.*)|b?"(?:\\.|[^"\\])*"|b?'(?:\\[^'\n]{1,9}|[^'\\\n])'""",
}
_TOKEN = {
    language: re.compile(
        rf"(?P<comment>{_COMMENT[language]})|(?P<string>{strings})"
        r"|(?P<number>(?:0[xX][\da-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)\w*)"
        r"|(?P<word>[^\W\d][\w$]*(?:!(?=[(\[{]))?|\$\w*)"
        r"|(?P<sign>===|!==|==|!=|<=|>=|=>|:=|->|::|&&|\|\||[^\w\s])",
        re.DOTALL,
    )
    for language, strings in _STRINGS.items()
}
_VALUE_WORDS = frozenset({"true", "false", "True", "False", "None", "null", "nil", "undefined", "NaN"})
_OUTPUT = re.compile(r"//\s*(?:Unordered )?[Oo]utput:")
_PREFIX = re.compile(r"^(?:[a-zA-Z]{0,2}r?#*)(?=[\"'`])")
_SUFFIX = re.compile(r"_?(?:[iu](?:8|16|32|64|128|size)|f32|f64|n|j)$")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of code. `text` is the same for what means the same; `value` tells literals from all else."""

    text: str
    raw: str
    line: int
    value: bool = False

    @property
    def is_word(self) -> bool:
        return not self.value and (self.text[:1].isalpha() or self.text[:1] in ("_", "$"))


@dataclass(frozen=True, eq=False)
class Statement:
    """Tokens that are read together: a line, or some that belong together."""

    tokens: tuple[Token, ...]

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The same for statements that say the same."""
        return tuple(token.text for token in self.tokens)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(token.text for token in self.tokens if token.is_word)

    @cached_property
    def text(self) -> str:
        said = ""
        for token in self.tokens[:400]:
            wide = said[-1:].isalnum() or said[-1:] in ("_", '"', "'")
            said += f" {token.raw}" if wide and (token.is_word or token.value) else token.raw
        return said[:2_000]

    @cached_property
    def values(self) -> tuple[Token, ...]:
        return tuple(token for token in self.tokens if token.value)


@dataclass(frozen=True, eq=False)
class Region:
    """A test, or with no name what a file has beside its tests."""

    name: str
    language: Language
    line: int
    tokens: tuple[Token, ...]
    example: bool = False
    """Whether it stands in documentation, where most are words to a reader and only some are run."""

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(_statements(self.tokens, self.language))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        return tuple(token.text for token in self.tokens)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(token.text for token in self.tokens if token.is_word)

    @cached_property
    def skeleton(self) -> tuple[str, ...]:
        """What is left without literals."""
        return tuple("" if token.value else token.text for token in self.tokens)

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2] if self.language is _P else self.name


@lru_cache(maxsize=64)
def regions(text: str, language: Language, inside_only: bool = False) -> tuple[Region, ...]:
    """The tests of a file, then what is beside them; with `inside_only` what is below `#[cfg(test)]` alone."""
    tokens = lexed(text, language)
    found, rest, at = list[Region](), list[Token](), 0
    for name, start, end in _spans(text, tokens, language):
        if start >= at:
            rest += tokens[at:start]
            found.append(Region(name, language, tokens[start].line, tokens[start:end]))
            at = end
    rest += tokens[at:]
    if inside_only:
        marks = [n for n, token in enumerate(rest) if n > 1 and token.text == "test" and rest[n - 2].text == "cfg"]
        rest = rest[marks[-1] :] if marks else []
    return (*found, Region("", language, 1, tuple(rest)))


def is_cut(text: str, language: Language) -> bool:
    """Whether a file is more than is read of it."""
    return len(text) > MOST and next(islice(_TOKEN[language].finditer(text), MOST, None), None) is not None


@lru_cache(maxsize=64)
def lexed(text: str, language: Language) -> tuple[Token, ...]:
    """A source as tokens, comments and what makes no difference left out."""
    ends = list(accumulate(len(line) for line in text.splitlines(keepends=True)))
    tokens: list[Token] = []
    for match in islice(_TOKEN[language].finditer(text), MOST):
        raw, line = match[0], bisect_right(ends, match.start()) + 1
        if match["comment"]:
            if language is _G and _OUTPUT.match(raw):
                said = _output(text, match.start())
                tokens.append(Token(f"s:{said}", said, line, True))
        elif match["string"]:
            tokens.append(Token(f"s:{_unquoted(raw)}", raw, line, True))
        elif match["number"]:
            minus = "-" if tokens and tokens[-1].text == "-" and (len(tokens) < 2 or _begins(tokens[-2])) else ""
            if minus:
                tokens.pop()
            tokens.append(Token(f"n:{minus}{_number(raw)}", f"{minus}{raw}", line, True))
        elif match["word"]:
            tokens.append(Token(raw, raw, line, raw in _VALUE_WORDS))
        else:
            if raw in ")]}" and tokens and tokens[-1].text == ",":
                tokens.pop()
            tokens.append(Token(raw, raw, line))
    return tuple(tokens)


def _begins(token: Token) -> bool:
    return not token.value and token.text not in (")", "]") and (not token.is_word or token.text == "return")


def _unquoted(raw: str) -> str:
    raw = _PREFIX.sub("", raw).rstrip("#")
    for quote in ('"""', "'''", '"', "'", "`"):
        if raw.startswith(quote) and raw.endswith(quote) and len(raw) >= 2 * len(quote):
            raw = raw[len(quote) : -len(quote)]
            break
    return raw.replace("\\'", "'").replace('\\"', '"')


def _number(raw: str) -> str:
    plain = raw.replace("_", "") if raw[:2].lower() in ("0x", "0b") else _SUFFIX.sub("", raw).replace("_", "")
    try:
        return str(int(plain, 0))
    except ValueError:
        pass
    try:
        value = float(plain)
    except ValueError:
        return plain
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _output(text: str, start: int) -> str:
    """What a Go example says that it prints: the comment from `Output:` on."""
    said = []
    for line in text[start : start + 4_000].splitlines():
        if not line.strip().startswith("//"):
            break
        said.append(line.strip().lstrip("/").strip())
    return "\n".join(said).partition(":")[2].strip()


# --- tests ----------------------------------------------------------------------------------------


def _spans(text: str, tokens: Sequence[Token], language: Language) -> Iterator[tuple[str, int, int]]:
    """The tests of a file by name, each with its first token and the one after its last."""
    match language:
        case Language.PYTHON:
            return _python(text, tokens)
        case Language.SCRIPT:
            return _script(tokens)
        case Language.GO:
            return _go(tokens)
    return _rust(tokens)


def _python(text: str, tokens: Sequence[Token]) -> Iterator[tuple[str, int, int]]:
    tree = parsed(text)
    lines = [token.line for token in tokens]
    tests = [one for one in functions(tree) if one[1].name.startswith("test")] if tree else []
    for name, node in sorted(tests, key=lambda one: one[1].lineno):
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        start, end = bisect_right(lines, first - 1), bisect_right(lines, node.end_lineno or first)
        if start < end:
            yield name, start, end


_HEADS = frozenset({"it", "test", "specify", "fit", "xit", "xtest"})


def _script(tokens: Sequence[Token]) -> Iterator[tuple[str, int, int]]:
    at = 0
    while at < len(tokens):
        start = at
        at += 1
        if tokens[start].text not in _HEADS or not _is_first(tokens, start):
            continue
        while at + 1 < len(tokens) and tokens[at].text == "." and tokens[at + 1].is_word:
            at += 2
        group = at
        while at < len(tokens) and (tokens[at].text == "(" or (at == group and tokens[at].raw[:1] == "`")):
            group, at = at, (closing(tokens, at) if tokens[at].text == "(" else at + 1)
        title = tokens[group + 1] if group + 1 < len(tokens) else None
        if at > group and title is not None and title.text.startswith("s:"):
            yield title.text[2:], start, at


def _is_first(tokens: Sequence[Token], at: int) -> bool:
    """Whether a statement begins at a place."""
    if at == 0 or tokens[at - 1].text in ("{", "}", ";", ")"):
        return True
    return tokens[at - 1].line < tokens[at].line and tokens[at - 1].text not in (".", "=", ",", "(")


def closing(tokens: Sequence[Token], at: int) -> int:
    """The place after the bracket that closes the one at a place."""
    depth = 0
    for place in range(at, len(tokens)):
        if not tokens[place].value:
            depth += (tokens[place].text in ("(", "[", "{")) - (tokens[place].text in (")", "]", "}"))
            if depth == 0:
                return place + 1
    return len(tokens)


def _body(tokens: Sequence[Token], at: int) -> int:
    """The end of the function whose name stands at a place."""
    opening = next((n for n in range(at, min(len(tokens), at + 200)) if tokens[n].text == "{"), len(tokens) - 1)
    return closing(tokens, opening)


def _go(tokens: Sequence[Token]) -> Iterator[tuple[str, int, int]]:
    for at in range(len(tokens) - 1):
        if tokens[at].text == "func" and re.match(r"(?:Test|Example|Fuzz)(?![a-z])", tokens[at + 1].text):
            yield tokens[at + 1].text, at, _body(tokens, at + 1)


def _rust(tokens: Sequence[Token]) -> Iterator[tuple[str, int, int]]:
    for at in range(len(tokens) - 1):
        if tokens[at].text != "fn" or not tokens[at + 1].is_word:
            continue
        start = next(
            (n + 1 for n in range(at - 1, max(-1, at - 400), -1) if tokens[n].text in ("{", "}", ";")), max(0, at - 400)
        )
        if any(token.text in ("test", "rstest", "test_case", "case") for token in tokens[start:at]):
            yield tokens[at + 1].text, start, _body(tokens, at + 1)


# --- statements -----------------------------------------------------------------------------------

_GOES_ON = frozenset({".", "&&", "||", "+", "?", ":", "=", "==", "!=", "===", "=>", ",", "and", "or"})


def _statements(tokens: Sequence[Token], language: Language) -> Iterator[Statement]:
    depths, here = [0], list[Token]()
    for token in tokens:
        text = "" if token.value else token.text
        ended = bool(here) and token.line > here[-1].line and depths[-1] == 0
        if ended and not (text in _GOES_ON or (language is not _P and here[-1].text in _GOES_ON)):
            yield Statement(tuple(here))
            here = []
        if language is not _P and text in ("{", "}", ";"):
            if here:
                yield Statement(tuple(here))
            here = []
            if text == "{":
                depths.append(0)
            elif text == "}" and len(depths) > 1:
                depths.pop()
            continue
        if text in ("(", "[") or (text == "{" and language is _P):
            depths[-1] += 1
        elif text in (")", "]") or (text == "}" and language is _P):
            depths[-1] = max(0, depths[-1] - 1)
        here.append(token)
    if here:
        yield Statement(tuple(here))
