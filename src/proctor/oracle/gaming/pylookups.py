"""Where Python compares literals, answers with them, and lays them out in tables."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import islice
from math import inf

from proctor.oracle.gaming.answers import Answer, constants, is_value
from proctor.oracle.gaming.lookups import ALL, Entry, Listed, Lookup, Span, fields
from proctor.oracle.gaming.syntax import FUNCTIONS, Function, children, documents, dotted, walk
from proctor.oracle.gaming.tokens import Value
from proctor.oracle.gaming.tolerances import number

_LITERAL = (ast.Constant, ast.UnaryOp)
_TESTS, _PARTS = 2, 100
"""Comparisons in one expression, and parts of it, that are looked at."""


def lookups(tree: ast.Module) -> Iterator[Lookup]:
    """What a source looks up: by branches function by function, and in tables."""
    homes: list[ast.Module | Function] = [tree, *(node for node in walk(tree) if isinstance(node, FUNCTIONS))]
    yield from map(_branches, homes)
    yield Lookup(list(_reckoned(tree)))
    yield from _tables(tree)


def _branches(home: ast.Module | Function) -> Lookup:
    lookup = Lookup(is_sheer=isinstance(home, FUNCTIONS), default=_default(home.body))
    for node in _inside(home):
        if isinstance(node, ast.If | ast.IfExp):
            body, rest = (node.body, node.orelse) if isinstance(node, ast.IfExp) else (_given(node.body), None)
            lookup.entries += _entries(node.test, body)
            given = tuple(constants(rest) or ()) if rest else lookup.default
            if given and _differs(node.test):
                lookup.entries += [Entry(node.test.lineno, tuple(way), given) for way in ways(node.test) if way]
        elif isinstance(node, ast.Match):
            for case in node.cases:
                lookup.entries += _entries(case.pattern, _given(case.body))
        elif isinstance(node, ast.Return) and not isinstance(node.value, ast.IfExp) and constants(node.value) is None:
            lookup.is_sheer = False
    return lookup


def _tables(tree: ast.Module) -> Iterator[Lookup]:
    for node in walk(tree):
        rows: list[tuple[ast.AST | None, ast.AST]] = []
        if isinstance(node, ast.Dict):
            rows = list(zip(node.keys, node.values, strict=True))
        elif isinstance(node, ast.List | ast.Tuple) and all(
            isinstance(one, ast.Tuple | ast.List) and len(one.elts) > 1 for one in node.elts
        ):
            rows = [(ast.Tuple(one.elts[:-1], ast.Load()), one.elts[-1]) for one in node.elts if hasattr(one, "elts")]
        table = Lookup(is_table=True)
        for key, value in rows:
            asked, given = constants(key) or (), constants(value) or ()
            table.entries.append(Entry(getattr(value, "lineno", 0), tuple(asked), tuple(given)))
        if table.entries:
            yield table


def _inside(home: ast.AST) -> Iterator[ast.AST]:
    """What stands in a function or a module, without the functions in it."""
    for child in children(home):
        if not isinstance(child, FUNCTIONS):
            yield child
            yield from _inside(child)


def sequences(tree: ast.Module) -> Iterator[Listed]:
    """Lists of literals, and texts that are lists."""
    words = documents(tree)
    for node in walk(tree):
        if isinstance(node, ast.Tuple | ast.List | ast.Set) and all(isinstance(v, _LITERAL) for v in node.elts):
            yield node.lineno, tuple(constants(node) or ())
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in words:
            yield node.lineno, fields(node.value)


def _reckoned(tree: ast.Module) -> Iterator[Entry]:
    """Answers that are reckoned from a comparison: `43 * (a == 12)`."""
    for node in walk(tree):
        if isinstance(node, ast.BinOp | ast.BoolOp | ast.Subscript):
            parts = list(islice(walk(node), _PARTS))
            tests = [part for part in parts if isinstance(part, ast.Compare) and len(part.ops) == 1][:_TESTS]
            inside = {id(part) for test in tests for part in walk(test)}
            given = [part for part in parts if isinstance(part, ast.Constant) and id(part) not in inside]
            for test in tests:
                for one in given:
                    yield from _entries(test, one)


def _differs(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotEq)


def _given(body: list[ast.stmt]) -> ast.expr | None:
    first = body[0] if body else None
    return first.value if isinstance(first, ast.Return | ast.Assign) else None


def _default(body: Iterable[ast.stmt]) -> Answer | None:
    """What a function gives where no branch is taken."""
    last = list(body)[-1:]
    node = last[0] if last else None
    if isinstance(node, ast.If):
        return _default(node.orelse)
    if isinstance(node, ast.Match):
        return _default(node.cases[-1].body)
    value = node.value if isinstance(node, ast.Return) else None
    while isinstance(value, ast.IfExp):
        value = value.orelse
    given = constants(value)
    return tuple(given) if given else None


def _entries(test: ast.AST, answer: ast.expr | None) -> list[Entry]:
    given = constants(answer)
    if not given:
        return []
    if span := _span(test):
        first = (int(span[0]),) if span[0] == span[1] and abs(span[0]) < inf else ()
        return [Entry(getattr(test, "lineno", 0), first, tuple(given), span)]
    return [Entry(getattr(test, "lineno", 0), tuple(way), tuple(given)) for way in ways(test) if way]


def _span(test: ast.AST) -> Span | None:
    """The numbers, from the first to the last, for which a condition holds that asks for more and less."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        some = [span for one in test.values if (span := _span(one))]
        return (max(low for low, _ in some), min(high for _, high in some)) if len(some) == len(test.values) else None
    if not isinstance(test, ast.Compare):
        return None
    (low, high), left = ALL, test.left
    for how, right in zip(test.ops, test.comparators, strict=True):
        bound, turned = number(right), number(left)
        if isinstance(how, ast.In) and isinstance(right, ast.Call) and dotted(right) == "range" and right.args:
            first, end, *_ = [ast.Constant(0), *right.args] if len(right.args) == 1 else right.args
            if (start := number(first)) is None or (stop := number(end)) is None:
                return None
            low, high = start, stop - 1
        elif not isinstance(how, ast.Lt | ast.LtE | ast.Gt | ast.GtE) or (bound is None) is (turned is None):
            return None
        else:
            step = 0 if isinstance(how, ast.LtE | ast.GtE) else 1
            is_low = isinstance(how, ast.Gt | ast.GtE) is (bound is not None)
            value = bound if bound is not None else turned or 0.0
            low, high = (max(low, value + step), high) if is_low else (low, min(high, value - step))
        left = right
    return low, high


def ways(test: ast.AST) -> list[list[Value]]:
    """The literals that a condition asks for, one list for each way in which it holds."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return [way for value in test.values for way in ways(value)]
    if isinstance(test, ast.MatchOr):
        return [way for pattern in test.patterns for way in ways(pattern)]
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.In):
        among = test.comparators[0]
        if isinstance(among, ast.Tuple | ast.List | ast.Set):
            return [constants(one) or [] for one in among.elts]
    return [list(_literals(test))]


def _literals(node: ast.AST) -> Iterator[Value]:
    """The literals in an expression, each with its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and (value := constants(node)):
        yield from value
    elif isinstance(node, ast.Constant):
        if is_value(node.value):
            yield node.value
    else:
        for child in children(node):
            yield from _literals(child)
