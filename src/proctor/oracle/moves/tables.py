"""Tables that tests in JavaScript, TypeScript and Go are run with, and what is named to be used once. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from proctor.oracle.gaming.tokens import Token, closing
from proctor.oracle.moves.bodies import MOST_ROWS

Tokens = Sequence[Token]
Row = Mapping[str, Tokens]
"""What stands for a name, or for a field of one (`c.want`)."""


def texts(tokens: Tokens) -> list[str]:
    return [token.text for token in tokens]


def parts(tokens: Tokens) -> list[Tokens]:
    """What commas part."""
    found: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        text = "" if token.value else token.text
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        if text == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(token)
    return [part for part in found if part]


def inside(tokens: Tokens, at: int = 0) -> Tokens:
    """What stands in the brackets that open at a place."""
    return tokens[at + 1 : closing(tokens, at) - 1]


def filled(tokens: Tokens, row: Row) -> list[Token]:
    """Tokens with the values of a row."""
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        token, after = tokens[at], tokens[at + 1 : at + 3]
        named = "" if token.value or (found and found[-1].text == ".") else token.text
        field = f"{named}.{after[1].text}" if named and len(after) == 2 and after[0].text == "." else ""
        key, at = (field, at + 3) if field in row else (named, at + 1)
        found += [replace(one, line=token.line) for one in row[key]] if key and key in row else [token]
    return found


# --- JavaScript -----------------------------------------------------------------------------------


_WORKS = frozenset({"(", "...", "=>", ".", "&&", "||", "??", "?", "get", "set", "function", "func", "`"})
"""Signs and words by which a value comes to be another one."""
_NAME = re.compile(r"[^\W\d]\w*|\$\w*")


def each(before: Tokens, parameters: Tokens) -> list[Row] | None:
    """The rows of `test.each([…])(title, (a, b) => …)`; None where a table is not written out. `before` is what stands
    before the title."""
    at = next((n for n, token in enumerate(before) if token.text == "each"), 0)
    listed = inside(before, at + 1) if at and at + 1 < len(before) and before[at + 1].text == "(" else ()
    if not listed or listed[0].text != "[" or closing(listed, 0) != len(listed):
        return None
    names = [token for token in parameters if token.text not in ("(", ")", "async", ",")]
    return _rows(parts(inside(listed)), texts(names))


def looped(body: Sequence[Tokens]) -> list[tuple[Tokens, Row]] | None:
    """The body of the loop over a table that is all that a test has, once for each row."""
    loop = body[0] if len(body) == 1 else ()
    words = texts(loop)
    if words[:3] not in (["for", "(", "const"], ["for", "(", "let"]) or "of" not in words:
        return None
    over = inside(loop, 1)
    of = texts(over).index("of")
    end = closing(loop, 1)
    names = [word for word in texts(over[1:of]) if word != ","]
    said = inside(loop, end) if end < len(loop) and loop[end].text == "{" else ()
    listed = over[of + 1 :]
    if not listed or listed[0].text != "[" or closing(listed, 0) != len(listed) or _leaves(said):
        return None
    rows = _rows(parts(inside(listed)), names)
    return [(said, row) for row in rows] if rows else None


def _leaves(tokens: Tokens) -> bool:
    return any(token.text in ("break", "continue", "return") for token in tokens)


def _rows(items: Sequence[Tokens], names: Sequence[str]) -> list[Row] | None:
    """Rows of values for names, which may stand in brackets; None unless all of them are written out."""
    rows: list[Row] = []
    if not all(map(_is_written, items)) or not all(name in "{}[]" or _NAME.fullmatch(name) for name in names):
        return None
    for item in items[: MOST_ROWS + 1]:
        if names[:1] == ["{"]:
            keyed = _keyed(inside(item)) if item[0].text == "{" else {}
            if len(keyed) != len(parts(inside(item))):
                return None
            rows.append({name: keyed[name] for name in names if name in keyed})
        else:
            bare = [name for name in names if name not in ("[", "]")]
            many = len(bare) > 1 or names[:1] == ["["]
            values = parts(inside(item)) if many and item[0].text == "[" else [item]
            if names[:1] == ["["] and item[0].text != "[":
                return None
            if len(values) != len(bare):
                return None
            rows.append(dict(zip(bare, values, strict=True)))
    return rows if 0 < len(rows) <= MOST_ROWS else None


def _is_written(item: Tokens) -> bool:
    """Whether an item of a table is a value as it stands: nothing is called, spread, chosen or taken from it."""
    opening = next((n for n, token in enumerate(item) if token.text in ("{", "[")), 0)
    ends = item[opening].text not in ("{", "[") or closing(item, opening) == len(item)
    return ends and _WORKS.isdisjoint(texts(item))


def _keyed(tokens: Tokens) -> dict[str, Tokens]:
    items = [part for part in parts(tokens) if len(part) > 2 and part[1].text == ":"]
    return {part[0].text.removeprefix("s:"): part[2:] for part in items}


# --- Go -------------------------------------------------------------------------------------------


def ranged(body: Sequence[Tokens], of: str) -> list[tuple[Tokens, Row]] | None:
    """The body of the loop over a table that a Go test ends with, once for each row. `of` is its `*testing.T`."""
    loop = body[-1] if body else ()
    words = texts(loop)
    if words[:1] != ["for"] or "range" not in words or len(body) > 2 or _leaves(loop):
        return None
    at = words.index("range") + 1
    variables = [word for word in words[1 : at - 2] if word != ","]
    if len(body) == 2:
        name, *_ = made = texts(body[0])
        if made[1:2] != [":="] or words[at] != name or words[at + 1 : at + 2] != ["{"]:
            return None
        table, said = body[0][2:], inside(loop, at + 1)
    else:
        opening = _last_brace(loop, at)
        table, said = loop[at:opening], inside(loop, opening)
    rows = _table(table, variables[-1], variables[0]) if variables else None
    if of in variables or not of:
        return None
    return [(_unwrapped(said, variables[-1], of), row) for row in rows] if rows else None


def _last_brace(loop: Tokens, at: int) -> int:
    """The place of the brace that opens the body of a loop over what begins at a place."""
    return next((n for n in range(len(loop) - 1, at, -1) if loop[n].text == "{" and closing(loop, n) == len(loop)), at)


def _table(table: Tokens, variable: str, key: str) -> list[Row] | None:
    words = texts(table)
    if "struct" not in words:
        return None
    at = words.index("struct") + 1
    fields = list(_fields(inside(table, at)))
    opening = closing(table, at)
    if opening >= len(table) or table[opening].text != "{" or closing(table, opening) != len(table):
        return None
    rows: list[Row] = []
    items = parts(inside(table, opening))
    if not all(map(_is_written, items)):
        return None
    for item in items:
        start = next((n for n, token in enumerate(item) if token.text == "{"), len(item))
        given = inside(item, start) if start < len(item) else ()
        keyed = _keyed(given)
        values = parts(given)
        named = keyed if len(keyed) == len(values) else dict(zip(fields, values, strict=False))
        row = {f"{variable}.{name}": value for name, value in named.items()}
        rows.append(row | ({key: item[: start - 1]} if start > 1 and words[0] == "map" else {}))
    return rows if 0 < len(rows) <= MOST_ROWS else None


def _fields(tokens: Tokens) -> Iterator[str]:
    """The names of a struct's fields."""
    line, naming = 0, True
    for at, token in enumerate(tokens):
        if token.line != line or tokens[at - 1].text == ";":
            line, naming = token.line, True
        if naming and token.is_word:
            yield token.text
            naming = at + 1 < len(tokens) and tokens[at + 1].text == ","
        elif token.text != ",":
            naming = False


def _unwrapped(said: Tokens, variable: str, of: str) -> Tokens:
    """The body of a loop without the subtest that it is in."""
    if texts(said[:3]) == [variable, ":=", variable]:
        said = said[3:]
    if texts(said[:4]) == [of, ".", "Run", "("] and closing(said, 3) == len(said):
        call = parts(inside(said, 3))
        head = ["func", "(", of, "*", "testing", ".", "T", ")", "{"]
        if len(call) == 2 and texts(call[1][: len(head)]) == head and "(" not in texts(call[0]):
            return inside(call[1], len(head) - 1)
    return said


# --- what is named to be used once ----------------------------------------------------------------


_FIRST = 4
"""Tokens at whose end a statement has asked for something: `if got`, `expect(got`, `assert_eq!(got`."""


def inlined(body: Iterable[Tokens]) -> Iterator[Tokens]:
    """Statements, of which what is only named to be used once in the next one stands there, constants everywhere."""
    said = [_condition(one) for one in body]
    values: dict[str, Tokens] = {}
    for at, tokens in enumerate(said):
        now = filled(tokens, values)
        name, value = _given(now)
        rest = [token for one in said[at + 1 :] for token in one]
        uses = _uses(rest, name)
        next_to = _uses(said[at + 1], name) if at + 1 < len(said) else 0
        is_constant = len(value) == 1 and value[0].value
        first = at + 1 < len(said) and name in texts(said[at + 1][:_FIRST])
        if name and uses and not _is_given(rest, name) and (is_constant or (uses == next_to == 1 and first)):
            values[name] = value
        else:
            yield now


def _condition(tokens: Tokens) -> Tokens:
    """`if got := f(1); got != 2 {` as `if f(1) != 2 {`."""
    words = texts(tokens)
    opening = next((n for n in range(len(words)) if words[n] == ";"), 0)
    if words[:1] == ["if"] and words[2:3] == [":="] and opening:
        rest = tokens[opening + 1 :]
        if _uses(rest, words[1]) == 1 and not _is_given(rest, words[1]):
            return [tokens[0], *filled(rest, {words[1]: tokens[3:opening]})]
    return tokens


def _given(tokens: Tokens) -> tuple[str, Tokens]:
    """The name that a statement gives to a value, and the value; "" where it does more."""
    words = texts(tokens)
    if words[1:2] == [":="] and tokens[0].is_word:
        return words[0], tokens[2:]
    if words[:1] in (["const"], ["let"]) and words[2:3] == ["="] and tokens[1].is_word:
        return words[1], tokens[3:]
    return "", ()


def _uses(tokens: Tokens, name: str) -> int:
    return sum(token.text == name and not token.value for token in tokens)


def _is_given(tokens: Tokens, name: str) -> bool:
    """Whether a name is given a value there."""
    words = texts(tokens)
    return any(word == name and words[at + 1 : at + 2] in (["="], [":="], ["+"], ["-"], [","]) and
               (words[at + 1] in ("=", ":=") or words[at + 2 : at + 3] in (["="], [words[at + 1]]))
               for at, word in enumerate(words[:-1]))  # fmt: skip
