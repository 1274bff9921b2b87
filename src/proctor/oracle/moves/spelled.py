"""Code in JavaScript, TypeScript, Go and Rust as it is meant: where a newline ends a statement, what kind of value a
literal is, and what a text is filled in with. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from proctor.oracle.gaming.change import Language
from proctor.oracle.gaming.tokens import Token, closing, lexed

_ENDED = frozenset({"return", "break", "continue", "yield", "async"})
"""Words of JavaScript's that a newline parts from what comes next."""
_GO_ON = frozenset({
    "case", "chan", "const", "default", "defer", "else", "for", "func", "go", "goto", "if", "import", "interface",
    "map", "package", "range", "select", "struct", "switch", "type", "var",
})  # fmt: skip
"""Words of Go's that no newline parts from what comes next."""
_OPENING = re.compile(r"([a-z]*)#*(.)", re.DOTALL)


def spelled(tokens: Sequence[Token], language: Language, title: str = "") -> list[Token]:
    """Tokens in the same spelling for what means the same and in no other, but for the `title` of a test."""
    named = next((at for at, token in enumerate(tokens) if token.text == f"s:{title}"), -1)
    found: list[Token] = []
    for at, token in enumerate(tokens):
        last = found[-1] if found else None
        if last and last.text == ";" and token.text in (";", "}"):
            found.pop()
        elif last and _end_line(tokens[at - 1]) < token.line and _is_end(tokens, at, language):
            found.append(Token(";", ";", last.line))
        found += [token] if at == named else _meant(token, language)
    return found


def _end_line(token: Token) -> int:
    """The line that a token ends on."""
    return token.line + token.raw.count("\n")


def _is_end(tokens: Sequence[Token], at: int, language: Language) -> bool:
    """Whether the newline before a place ends a statement, whatever comes next."""
    last, token = tokens[at - 1], tokens[at]
    if language is Language.GO:
        closes = last.value or last.text in (")", "]", "}") or (last.is_word and last.text not in _GO_ON)
        return (closes or _is_counted(tokens, at - 2)) and token.text not in (")", "}", ";")
    return language is Language.SCRIPT and (last.text in _ENDED or _is_counted(tokens, at)) and token.text != ";"


def _is_counted(tokens: Sequence[Token], at: int) -> bool:
    """Whether `++` or `--` stands at a place."""
    two = [(token.text, token.line) for token in tokens[max(at, 0) : at + 2]]
    return len(two) == 2 and two[0] == two[1] and two[0][0] in ("+", "-")


def _meant(token: Token, language: Language) -> Iterator[Token]:
    """A token by what it means."""
    if token.text.startswith("n:"):
        yield replace(token, text=f"n:{token.raw.replace('_', '')}")
        return
    opened = _OPENING.match(token.raw) if token.text.startswith("s:") else None
    letters, quote = opened.groups() if opened else ("", '"')
    if language is Language.SCRIPT and quote == "`" and "${" in token.raw:
        yield from _taken_apart(token)
        return
    is_text = quote == '"' or (quote in "'`" and language is Language.SCRIPT) or (quote == "`" and not letters)
    is_raw = "r" in letters or (quote == "`" and language is Language.GO)
    kind = letters.replace("r", "") + ("" if is_text else quote) + ("r" if is_raw and "\\" in token.raw else "")
    yield replace(token, text=f"s{kind}{token.text[1:]}") if kind else token


def _taken_apart(token: Token) -> Iterator[Token]:
    """A text in backquotes, and beside it what it is filled in with as code."""
    yield Token("`", "`", token.line)
    yield token
    for part in token.raw.split("${")[1:]:
        code = lexed(f"{{{part}", Language.SCRIPT)
        yield from spelled([replace(one, line=token.line) for one in code[: closing(code, 0)]], Language.SCRIPT)
    yield Token("`", "`", token.line)
