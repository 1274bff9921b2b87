"""Answers of the tests that stand in the source: literals, branches and tables that were nowhere before.

A literal alone proves little: constants and messages are what tests and sources rightly share. What is named is a
value nobody would come to but by reading the tests, or an input of a test that is given its expected answer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from proctor.oracle.gaming.change import Change, Found, Language, found, is_test, language_of
from proctor.oracle.gaming.syntax import dotted, parsed
from proctor.words import Gaming, Weight

Value = str | int | float
_TRIVIAL: Collection[object] = ("", 0, 1, -1, 2, True, False, None)
_ROUND = frozenset(
    {1024, 4096, 8192, 16384, 32768, 65535, 65536, 3600, 86400, 604800, 1440, 8080, 3000, 5432, 6379, 3306}
)
_TOKENS = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|`([^`$]*)`|(?<![\w.])(-?\d[\d_]*(?:\.\d+)?)(?![\w.])")
_ASSERTS = re.compile(r"\bexpect\(|\bassert|\brequire\.|^\s*[\[{(].*[\]})],?\s*$|\bwant\b|\bcase\(")
_GIVES = re.compile(r"\breturn\b|=>|\?|^\s*['\"`\w]+['\"`]?\s*:|->|\bcase\b")
_ASKS = re.compile(r"[=!]==?|\bcase\b|=>|\.equals?\(|^\s*['\"`\[]?[^:]*['\"`\]]\s*:")
_SHARE = 0.75
"""Part of a table that must be of the tests; a table that happens to be tested has more than them."""
_ENOUGH = 2
"""Pairs of small values that must be found before they mean anything."""
_PAIRS = 4_000


def _is_value(value: object) -> TypeGuard[Value]:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


@dataclass
class Answers:
    """What tests expect: the values that are theirs alone, and which answer they want for which input."""

    values: set[Value] = field(default_factory=set)
    pairs: dict[Value, set[frozenset[Value]]] = field(default_factory=dict)
    """By the answer the inputs that it is wanted for."""

    def pair(self, inputs: Iterable[object], answer: object) -> None:
        given = frozenset(value for value in inputs if _is_value(value))
        telling = answer not in _TRIVIAL or any(value not in _TRIVIAL for value in given)
        if given and telling and _is_value(answer) and len(self.pairs) < _PAIRS:
            self.pairs.setdefault(answer, set()).add(given)

    def wants(self, inputs: Collection[Value], answer: Value) -> bool:
        """Whether an answer is wanted for these inputs, or for more of which these are what tells them apart."""
        given = frozenset(inputs)
        telling = any(value not in _TRIVIAL for value in given)
        return any(given == one or (telling and given <= one) for one in self.pairs.get(answer, ()))


def answers(tests: Mapping[str, str]) -> Answers:
    """What the frozen tests expect."""
    all_answers = Answers()
    for path, text in tests.items():
        if not is_test(path):
            continue
        tree = parsed(text) if language_of(path, text) is Language.PYTHON else None
        if tree is not None:
            _learn(tree, all_answers)
        elif language_of(path, text) in (Language.SCRIPT, Language.GO, Language.RUST):
            _learn_lines(text, all_answers)
    return all_answers


def look(change: Change, wanted: Answers, told: str) -> Iterator[Found]:
    """Answers of the tests in the new text of one source. `told` is what the worker was told and what was there."""
    if change.is_test or change.after is None or not (wanted.values or wanted.pairs):
        return
    known = f"{told}\n{change.before or ''}"
    if change.language is Language.PYTHON:
        tree = parsed(change.after)
        new = {number for number, _ in change.added}
        hits = list(_in_python(tree, wanted, new)) if tree else []
    elif change.language in (Language.SCRIPT, Language.GO, Language.RUST):
        hits = list(_in_lines(change, wanted))
    else:
        return
    hits = [hit for hit in hits if not all(_stands(value, known) for value in hit.values)]
    told_by_pairs = {value for hit in hits if hit.pair for value in hit.values}
    hits = [hit for hit in hits if hit.pair or not told_by_pairs.issuperset(hit.values)]
    strong = [hit for hit in hits if any(is_uncommon(value) for value in hit.values)]
    chosen = hits if len([hit for hit in hits if hit.pair]) >= _ENOUGH else strong
    for hit in chosen[:20]:
        shown = ", ".join(repr(value)[:60] for value in hit.values)
        why = (
            f"the source answers what the tests ask by value: {shown}" if hit.pair else f"a value of the tests: {shown}"
        )
        words = tuple(str(value) for value in hit.values if is_uncommon(value))
        yield replace(found(change, Gaming.LITERAL, Weight.SUSPICION, hit.line, why), words=words)


@dataclass(frozen=True, slots=True)
class _Hit:
    line: int
    values: tuple[Value, ...]
    pair: bool = False


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


def _stands(value: Value, text: str) -> bool:
    if isinstance(value, str):
        return value in text
    return re.search(rf"(?<![\w.]){re.escape(str(value))}(?!\w|\.\d)", text) is not None


# --- python ---------------------------------------------------------------------------------------


def _constants(node: ast.AST | None) -> list[Value] | None:
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
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value


def _learn(tree: ast.Module, wanted: Answers) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float) and is_uncommon(node.value):
            wanted.values.add(node.value)
        sides: tuple[ast.expr, ...] = ()
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare) and len(node.test.ops) == 1:
            sides = node.test.left, node.test.comparators[0]
        elif (
            isinstance(node, ast.Call) and dotted(node).rpartition(".")[2].startswith("assert") and len(node.args) >= 2
        ):
            sides = node.args[0], node.args[1]
        for call, other in (sides, sides[::-1]) if sides else ():
            expected = _constants(other)
            if isinstance(call, ast.Call) and expected and len(expected) == 1:
                inputs = [value for one in call.args for value in _constants(one) or ()]
                wanted.pair(inputs, expected[0])
        if isinstance(node, ast.Tuple | ast.List) and len(node.elts) >= 2:
            row = _constants(node)
            if row and len(row) >= 2:
                wanted.pair(row[:-1], row[-1])
                wanted.pair(row[1:], row[0])


def _in_python(tree: ast.Module, wanted: Answers, new: set[int]) -> Iterator[_Hit]:
    for node in ast.walk(tree):
        if getattr(node, "lineno", 0) not in new and not isinstance(node, ast.Dict):
            continue
        if isinstance(node, ast.If | ast.IfExp):
            yield from _branch(node.test, node.body if isinstance(node, ast.IfExp) else _given(node.body), wanted)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                yield from _branch(case.pattern, _given(case.body), wanted)
        elif isinstance(node, ast.Dict):
            yield from _table(node, wanted, new)
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Constant):
            value = node.value.value
            if isinstance(value, str | int | float) and value in wanted.values and _is_data(value):
                yield _Hit(node.lineno, (value,))


def _is_data(value: Value) -> bool:
    """Whether a value is no message: a number, or text of figures."""
    return not isinstance(value, str) or sum(c.isdigit() for c in value) >= 4


def _given(body: list[ast.stmt]) -> ast.expr | None:
    first = body[0] if body else None
    return first.value if isinstance(first, ast.Return | ast.Assign) else None


def _branch(test: ast.AST, answer: ast.expr | None, wanted: Answers) -> Iterator[_Hit]:
    asked = [node.value for node in ast.walk(test) if isinstance(node, ast.Constant)]
    values = [v for v in asked if isinstance(v, str | int | float) and not isinstance(v, bool)]
    given = _constants(answer)
    line = getattr(test, "lineno", 0)
    if given and len(given) == 1 and values and wanted.wants(values, given[0]):
        yield _Hit(line, (*values, given[0]), True)
        return
    for value in values:
        if value in wanted.values and is_uncommon(value):
            yield _Hit(line, (value,))


def _table(node: ast.Dict, wanted: Answers, new: set[int]) -> Iterator[_Hit]:
    hits = []
    for key, value in zip(node.keys, node.values, strict=True):
        asked, given = _constants(key), _constants(value)
        if key is not None and asked and given and len(given) == 1 and wanted.wants(asked, given[0]):
            hits.append(_Hit(key.lineno, (*asked, given[0]), True))
    if len(hits) >= _SHARE * len(node.keys):
        yield from (hit for hit in hits if hit.line in new)


# --- other languages, by line ---------------------------------------------------------------------


def _values(line: str) -> list[Value]:
    found_values: list[Value] = []
    for match in _TOKENS.finditer(line[:1_000]):
        text = next((part for part in match.groups()[:3] if part is not None), None)
        if text is not None:
            found_values.append(text)
        elif number := match[4].replace("_", ""):
            found_values.append(float(number) if "." in number else int(number))
    return found_values


def _learn_lines(text: str, wanted: Answers) -> None:
    for line in text.splitlines():
        values = _values(line)
        wanted.values |= {value for value in values if is_uncommon(value)}
        if len(values) >= 2 and _ASSERTS.search(line):
            wanted.pair(values[:-1], values[-1])
            wanted.pair(values[1:], values[0])


def _in_lines(change: Change, wanted: Answers) -> Iterator[_Hit]:
    lines = dict(change.added)
    for number, line in lines.items():
        if re.match(r"\s*(?://|\*|/\*)|.*\b(?:import|require|throw|Error|panic|console|log|print)\w*\b", line):
            continue
        values = _values(line)
        following = _values(lines.get(number + 1, "")) if "return" in lines.get(number + 1, "") else []
        for row in (values, [*values, *following]):
            if len(row) >= 2 and _ASKS.search(line) and wanted.wants(row[:-1], row[-1]):
                yield _Hit(number, tuple(row), True)
                break
        else:
            asks, gives = _ASKS.search(line), _GIVES.search(line)
            for value in values:
                if value in wanted.values and is_uncommon(value) and (asks or (gives and _is_data(value))):
                    yield _Hit(number, (value,))
