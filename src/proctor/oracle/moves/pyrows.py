"""The rows of values that Python tests are run with, by marks of pytest's and by loops. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from proctor.oracle.gaming.syntax import Function, dotted
from proctor.oracle.moves import plain
from proctor.oracle.moves.bodies import MOST_ROWS


class UnclearError(Exception):
    """A table that is not written out."""


Row = dict[str, ast.expr]


def rows(
    node: Function, bound: Mapping[str, str], tables: Mapping[str, ast.expr], leans: set[str]
) -> tuple[list[Row], list[ast.expr]]:
    """The rows of values that a test is run with, and the marks that say something else."""
    every: list[list[Row]] = []
    marks = []
    for mark in node.decorator_list:
        if not (isinstance(mark, ast.Call) and plain.target(mark, bound) == "pytest.mark.parametrize"):
            marks.append(mark)
            continue
        leans.add("pytest.mark.parametrize")
        words = {word.arg: word.value for word in mark.keywords}
        names = mark.args[0] if mark.args else words.get("argnames")
        values = mark.args[1] if len(mark.args) > 1 else words.get("argvalues")
        named = words.get("ids") or ast.List([])
        if words.keys() - {"argnames", "argvalues", "ids"} or names is None or values is None or len(mark.args) > 2:
            raise UnclearError
        if not (plain.is_literal(named, {}) or (dotted(named) in ("str", "repr") and dotted(named) not in bound)):
            raise UnclearError
        leans |= {values.id} if isinstance(values, ast.Name) else set()
        every.insert(0, [_row(_names(names), one, bound) for one in _listed(values, tables)])
    found = [{key: value for part in one for key, value in part.items()} for one in product(*every)]
    if not found or len(found) > MOST_ROWS:
        raise UnclearError
    return found, marks


def _names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [part.strip() for part in node.value.split(",") if part.strip()]
    if isinstance(node, ast.List | ast.Tuple):
        return [str(one.value) for one in node.elts if isinstance(one, ast.Constant)]
    raise UnclearError


def _listed(node: ast.expr, tables: Mapping[str, ast.expr]) -> list[ast.expr]:
    node = tables.get(node.id, node) if isinstance(node, ast.Name) else node
    if not isinstance(node, ast.List | ast.Tuple) or any(isinstance(one, ast.Starred) for one in node.elts):
        raise UnclearError
    return node.elts


def _row(names: Sequence[str], value: ast.expr, bound: Mapping[str, str]) -> Row:
    if isinstance(value, ast.Call) and plain.target(value, bound) == "pytest.param":
        if any(word.arg != "id" or not isinstance(word.value, ast.Constant) for word in value.keywords):
            raise UnclearError
        values = value.args
    elif len(names) == 1:
        values = [value]
    elif isinstance(value, ast.List | ast.Tuple):
        values = value.elts
    else:
        raise UnclearError
    if len(values) != len(names) or any(map(_works, values)):
        raise UnclearError
    return dict(zip(names, values, strict=True))


def _works(node: ast.AST) -> bool:
    """Whether a value is worked out: at another time than it was where it stood in a test."""
    acts = (ast.Call, ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Starred, ast.comprehension, ast.Subscript)
    return any(isinstance(one, acts) for one in ast.walk(node))


def looped(body: list[ast.stmt], row: Row, classes: Sequence[ast.ClassDef]) -> Iterator[tuple[list[ast.stmt], Row]]:
    """The body of a test once for each row of the loop that is all that it has."""
    said = [one for one in body if not plain.is_idle(one)]
    loop = said[0] if len(said) == 1 else None
    if not (isinstance(loop, ast.For) and not loop.orelse and isinstance(loop.iter, ast.List | ast.Tuple)):
        yield body, row
        return
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    names = [one.id for one in targets if isinstance(one, ast.Name)]
    leaves = any(isinstance(one, ast.Break | ast.Continue | ast.Return) for one in ast.walk(loop))
    is_long = len(loop.iter.elts) > MOST_ROWS
    if len(names) != len(targets) or leaves or is_long or any(map(_works, loop.iter.elts)):
        yield body, row
        return
    inner = loop.body
    first = inner[0]
    if classes and len(inner) == 1 and isinstance(first, ast.With) and all(
        dotted(one.context_expr) == "self.subTest" and one.optional_vars is None and _is_labelled(one.context_expr)
        for one in first.items
    ):  # fmt: skip
        inner = first.body
    for one in loop.iter.elts:
        yield inner, row | _row(names, one, {})


def _is_labelled(call: ast.expr) -> bool:
    """Whether what a subtest is told does nothing."""
    return isinstance(call, ast.Call) and not any(_works(one) for one in (*call.args, *call.keywords))
