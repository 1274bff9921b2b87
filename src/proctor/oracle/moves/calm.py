"""What a file in JavaScript, TypeScript, Go or Rust may have beside tests that moved there: a list of what is plain,
and nothing else is. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from proctor.oracle.gaming.change import Language
from proctor.oracle.gaming.tokens import Token, closing
from proctor.oracle.moves import runners

UNASKED = frozenset(
    {"init", "TestMain", "beforeEach", "beforeAll", "before", "afterEach", "afterAll", "after", "setup"}
)
"""Names of what is run around tests."""
_REACHING = {
    Language.SCRIPT: frozenset({
        "globalThis", "global", "window", "self", "prototype", "__proto__", "constructor", "Reflect", "Proxy", "Object",
        "Function", "eval", "require", "module", "exports", "process", "vi", "jest", "sinon", "mock", "spyOn", "stub",
        "import", "with", "delete", "yield", "createRequire", "expose", "defineProperty", "setPrototypeOf", "skip",
        "only", "todo", "fails", "failing", "beforeEach", "beforeAll", "afterEach", "afterAll",
    }),
    Language.GO: frozenset({
        "unsafe", "reflect", "os", "runtime", "syscall", "plugin", "init", "TestMain", "Setenv", "Exit", "goto",
        "recover", "M",
    }),
    Language.RUST: frozenset({
        "unsafe", "macro_rules", "macro_rules!", "static", "mod", "impl", "extern", "env", "process", "set_hook", "use",
        "catch_unwind", "include!", "cfg", "path", "should_panic", "ignore",
    }),
}  # fmt: skip
"""Words by which code reaches what is not its own, or turns around what a test says."""
_OPERATORS = frozenset("+-*/%|&^?<>!")


def is_plain(said: Sequence[Token], language: Language, bound: Mapping[str, str]) -> bool:
    """Whether a statement that was not there before gives names and does nothing else, then or later; `bound` are the
    names that imports give."""
    texts = [token.text for token in said]
    first = texts[0] if texts else ""
    if first in ("type", "interface"):
        return said[1].is_word and (language is Language.GO or not {"(", "`"} & set(texts))
    if first in ("const", "let", "var"):
        return _is_literal(said, language)
    if first in ("function", "func", "fn"):
        named = len(said) > 1 and said[1].is_word and texts[1] not in UNASKED
        signature = texts[: texts.index("{")] if "{" in texts else texts
        return named and "=" not in signature and _is_calm(said, language, bound)
    return False


def is_plain_test(tokens: Sequence[Token], language: Language, bound: Mapping[str, str]) -> bool:
    """The same of a test."""
    texts = [token.text for token in tokens]
    if language is Language.SCRIPT:
        if texts[:1] not in (["it"], ["test"], ["specify"]) or (texts[1:2] == ["."] and texts[2:3] != ["each"]):
            return False
    elif language is Language.GO:
        if texts[:1] != ["func"] or texts[4:9] != ["*", "testing", ".", "T", ")"]:
            return False
    elif texts[:5] != ["#", "[", "test", "]", "fn"]:
        return False
    else:
        tokens = tokens[4:]
    return _is_calm(tokens, language, bound)


def _is_calm(tokens: Sequence[Token], language: Language, bound: Mapping[str, str]) -> bool:
    """Whether code that is run changes nothing but what it made itself, as far as its words tell."""
    reaching, own = _REACHING[language], own_names(tokens)
    if any(token.text in reaching or (language is Language.RUST and token.text == "#") for token in tokens):
        return False
    if language is Language.SCRIPT and not runners.is_asked_only(tokens, bound, own):
        return False
    return set(assigned(tokens)) <= own


def own_names(tokens: Sequence[Token]) -> frozenset[str]:
    """The names that some tokens give."""
    found: set[str] = set()
    for at, token in enumerate(tokens):
        if token.text in ("const", "let", "var", "mut") and at + 1 < len(tokens):
            end = closing(tokens, at + 1) if tokens[at + 1].text in ("{", "[", "(") else at + 2
            found |= {one.text for one in tokens[at + 1 : end] if one.is_word}
        elif token.text == ":=":
            back = at - 1
            while back >= 0 and (tokens[back].is_word or tokens[back].text == ","):
                if tokens[back].text in ("if", "for", "switch") or tokens[back].line < token.line:
                    break
                found.add(tokens[back].text)
                back -= 1
        elif token.text == "=>" and at:
            begin = at - 1
            while tokens[at - 1].text == ")" and begin > 0 and closing(tokens, begin) != at:
                begin -= 1
            found |= {one.text for one in tokens[begin:at] if one.is_word}
    return frozenset(found - {","})


def assigned(tokens: Sequence[Token]) -> Iterator[str]:
    """The names that are given another value without being made there; "" for a part of something."""
    for at, token in enumerate(tokens):
        if token.text == "=":
            yield from _assigned(tokens, at)
        elif token.text in ("+", "-") and at + 1 < len(tokens) and tokens[at + 1].text == token.text:
            is_after = at > 0 and tokens[at - 1].is_word and tokens[at - 1].line == token.line
            place = at - 1 if is_after else min(at + 2, len(tokens) - 1)
            yield tokens[place].text if tokens[place].is_word and tokens[place - 1].text != "." else ""


def _assigned(tokens: Sequence[Token], at: int) -> Iterator[str]:
    back = at - 1
    while back > 0 and tokens[back].text in _OPERATORS:
        back -= 1
    begin = at
    while begin > 0 and tokens[begin - 1].text != ";" and tokens[begin - 1].line == tokens[at].line:
        begin -= 1
    made = [n for n in range(begin, at) if tokens[n].text in ("const", "let", "var")]
    if made and (made[-1] + 1 == back or tokens[made[-1] + 2].text in (":", "mut") or not tokens[back].is_word):
        return
    if tokens[back - 1 : back] and tokens[back - 1].text in ("const", "let", "var", "mut"):
        return
    while back >= 0 and (tokens[back].is_word or tokens[back].text == ","):
        yield "" if back and tokens[back - 1].text in (".", "->", "::") else tokens[back].text
        if back == 0 or tokens[back - 1].text != ",":
            return
        back -= 2
    yield ""


def _is_literal(said: Sequence[Token], language: Language) -> bool:
    """Whether a statement gives values that are written out."""
    texts = [token.text for token in said]
    if "=" not in texts or not said[1].is_word:
        return False
    start = texts.index("=")
    typed = said[2:start]
    if any(not (token.is_word or token.text in (":", "[", "]", "&", "'", "<", ">", "|", ".")) for token in typed):
        return False
    for at in range(start + 1, len(said)):
        token, after = said[at], texts[at + 1 : at + 2]
        if token.value:
            if token.raw[:1] == "`" and said[at - 1].is_word:
                return False
        elif token.is_word:
            is_key = after == [":"] or token.text in ("as", "const", "struct", "int", "string", "bool", "float64")
            if not (is_key or texts[at - 1] == "]" or (language is Language.GO and after == ["{"])):
                return False
        elif token.text not in ("[", "]", "{", "}", ",", ":", "-", "&", "*"):
            return False
    return True
