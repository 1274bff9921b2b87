"""What tests expect: the values that are theirs alone, and which answer they want for which input."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from proctor.oracle.gaming.change import Language, language_of
from proctor.oracle.gaming.lookups import Reader, literals
from proctor.oracle.gaming.syntax import called, dotted, parsed, walk
from proctor.oracle.gaming.tokens import Value

Answer = tuple[Value, ...]
"""An answer, what it holds laid out flat."""
TRIVIAL: Collection[object] = ("", 0, 1, -1, 2, True, False, None)
_ROUND = frozenset(
    {1024, 4096, 8192, 16384, 32768, 65535, 65536, 3600, 86400, 604800, 1440, 8080, 3000, 5432, 6379, 3306}
)
_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()  # noqa: SIM905
_PHRASES = {
    200: "ok", 201: "created", 202: "accepted", 204: "no content", 301: "moved permanently", 302: "found",
    304: "not modified", 400: "bad request", 401: "unauthorized", 403: "forbidden", 404: "not found",
    405: "method not allowed", 409: "conflict", 410: "gone", 418: "i'm a teapot", 429: "too many requests",
    500: "internal server error", 501: "not implemented", 502: "bad gateway", 503: "service unavailable",
}  # fmt: skip
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_EXPECTED = re.compile(r"want(?:ed)?|expect(?:ed|s)?|result|out(?:put)?|answer")
_PAIRS = 4_000


def is_value(value: object) -> TypeGuard[Value]:
    """Whether something is a text or a number."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def plain(value: Value) -> Value:
    """The number that a text says, if it says one as it is said."""
    is_number = isinstance(value, str) and len(value) < 20 and value.removeprefix("-").isdecimal() and value.isascii()
    return int(value) if is_number and str(int(value)) == value else value


@dataclass
class Answers:
    """What tests expect of sources."""

    values: set[Value] = field(default_factory=set)
    pairs: dict[Answer, set[frozenset[Value]]] = field(default_factory=dict)
    """By the answer the inputs that it is wanted for."""
    groups: dict[str, set[tuple[frozenset[Value], Answer]]] = field(default_factory=dict)
    """By the function, or the table, all that is wanted of it."""

    def pair(self, inputs: Iterable[object], answer: Iterable[object], group: str = "") -> None:
        """Learn that some inputs want an answer."""
        given, wanted = frozenset(map(plain, filter(is_value, inputs))), tuple(map(plain, filter(is_value, answer)))
        if not (given and wanted) or len(self.pairs) >= _PAIRS or everybody_knows(given, wanted):
            return
        if group:
            self.groups.setdefault(group, set()).add((given, wanted))
        if any(value not in TRIVIAL for value in (*given, *wanted)):
            self.pairs.setdefault(wanted, set()).add(given)

    def row(self, parts: list[list[Value]], group: str = "") -> None:
        """Learn a row of a table, whose answer is the last or the first of its parts."""
        if len(parts) >= 2:
            self.pair((value for part in parts[:-1] for value in part), parts[-1], group)
            self.pair((value for part in parts[1:] for value in part), parts[0], group and f"{group} reversed")

    def wants(self, inputs: Collection[Value], answer: Answer) -> bool:
        """Whether an answer is wanted for these inputs, or for more of which these are what tells them apart."""
        given = frozenset(inputs)
        telling = any(value not in TRIVIAL for value in given)
        return any(given == one or (telling and given <= one) for one in self.pairs.get(answer, ()))


def everybody_knows(given: Collection[Value], answer: Answer) -> bool:
    """Whether a pair is of those that nobody has to read from a test: months, days of the week, statuses of HTTP,
    numerals, and signs that stand for signs."""
    if len(given) != 1 or len(answer) != 1:
        return False
    one, other = (value.lower() if isinstance(value, str) else value for value in (*given, *answer))
    return any(_is_known(a, b) for a, b in ((one, other), (other, one)))


def _is_known(one: Value, other: Value) -> bool:
    if isinstance(one, str) and not one.isalnum() and len(one) <= 2:
        return isinstance(other, int) or (isinstance(other, str) and not other.isalnum() and len(other) <= 2)
    if isinstance(one, str):
        month = len(one) >= 3 and any(name.startswith(one) for name in _MONTHS)
        day = len(one) >= 3 and any(name.startswith(one) for name in _DAYS)
        small = isinstance(other, int) and (0 <= other <= 12 or (month and 28 <= other <= 31))
        short = isinstance(other, str) and len(other) >= 2 and one.startswith(other)
        return ((month or day) and (small or short)) or _ROMAN.get(one) == other
    if not isinstance(one, int):
        return False
    return _PHRASES.get(one) == other or (1 <= one <= 12 and other in (28, 29, 30, 31))


def is_uncommon(value: Value) -> bool:
    """Whether nobody would come to a value but by reading the tests."""
    if isinstance(value, str):
        digits = sum(c.isdigit() for c in value)
        return (digits >= 4 and len(value) >= 6) or (len(value) >= 12 and " " in value.strip())
    if isinstance(value, float) and not value.is_integer():
        return len(f"{abs(value):.12g}".replace(".", "").strip("0")) >= 4
    whole = abs(int(value))
    if whole < 1000 or whole in _ROUND or 1900 <= whole <= 2100:
        return False
    return whole % 100 != 0 and (whole & (whole - 1)) != 0 and (whole & (whole + 1)) != 0


def learned(tests: Mapping[str, str]) -> Answers:
    """What tests expect, by their paths."""
    wanted = Answers()
    for path, text in tests.items():
        language = language_of(path, text)
        tree = parsed(text) if language is Language.PYTHON else None
        if tree is not None:
            _learn(tree, wanted, path)
        elif language in (Language.SCRIPT, Language.GO, Language.RUST):
            reader = Reader(text, language)
            reader.learn(wanted, path)
            wanted.values |= set(filter(is_uncommon, literals(reader.words)))
    return wanted


def constants(node: ast.AST | None) -> list[Value] | None:
    """The values of a literal, containers flattened; None where it is none."""
    if node is None:
        return None
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return list(_flat(value))


def _flat(value: object) -> Iterator[Value]:
    if isinstance(value, dict):
        for one in (*value.keys(), *value.values()):
            yield from _flat(one)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _flat(one)
    elif is_value(value):
        yield value


def _learn(tree: ast.Module, wanted: Answers, path: str) -> None:
    """Learn from the syntax of a test file, in the order in which it stands there."""
    nodes = (node for node in walk(tree) if isinstance(node, ast.stmt | ast.expr))
    bound: dict[str, ast.expr] = {}
    for node in sorted(nodes, key=lambda one: (one.lineno, one.col_offset)):
        if isinstance(node, ast.Constant) and is_value(node.value) and is_uncommon(node.value):
            wanted.values.add(node.value)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            bound[node.targets[0].id] = node.value
        elif isinstance(node, ast.Tuple | ast.List):
            _rows(node, wanted, path)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                wanted.pair(constants(key) or (), constants(value) or (), f"{path}:{node.lineno}")
        for one, other in _compared(node):
            call = bound.get(one.id) if isinstance(one, ast.Name) else one
            if isinstance(call, ast.Await):
                call = call.value
            expected = (
                other.args[0] if called(other) == "approx" and isinstance(other, ast.Call) and other.args else other
            )
            if isinstance(call, ast.Call) and (answer := constants(expected)):
                given = (*call.args, *(word.value for word in call.keywords))
                wanted.pair(
                    (value for part in given for value in constants(part) or ()), answer, f"{path} {called(call)}"
                )


def _compared(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """The two sides of what an assertion compares, both ways round."""
    if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare) and len(node.test.ops) == 1:
        sides = node.test.left, node.test.comparators[0]
    elif isinstance(node, ast.Call) and dotted(node).rpartition(".")[2].startswith("assert") and len(node.args) >= 2:
        sides = node.args[0], node.args[1]
    else:
        return []
    return [sides, (sides[1], sides[0])]


def _rows(node: ast.Tuple | ast.List, wanted: Answers, path: str) -> None:
    """A sequence that may be a row, or a table of rows."""
    if all(isinstance(one, ast.Constant | ast.UnaryOp) for one in node.elts):
        wanted.row([part for one in node.elts if (part := constants(one))])
    for one in node.elts:
        group = f"{path}:{node.lineno}:{node.col_offset}"
        if isinstance(one, ast.Tuple | ast.List):
            wanted.row([part for each in one.elts if (part := constants(each))], group)
        elif isinstance(one, ast.Call):
            words = {word.arg or "": constants(word.value) or [] for word in one.keywords}
            answer = next((name for name in words if _EXPECTED.fullmatch(name)), "")
            if answer:
                wanted.pair((v for name in words if name != answer for v in words[name]), words[answer], group)
            else:
                wanted.row([part for each in one.args if (part := constants(each))], group)
