"""Python tests whose assertions are still there and cannot fail them any more: they stand under a new condition, a
catcher, or in a function that nobody calls. Other languages' are told by `swallowed.py`."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from proctor.oracle.gaming import pyasserts
from proctor.oracle.gaming.change import Change, Found, found
from proctor.oracle.gaming.conditions import PLATFORM_NAME
from proctor.oracle.gaming.guards import CONDITION, HOLDS, NEVER, NO_CASE, SWALLOWED, UNCALLED, Check, Guard
from proctor.oracle.gaming.swallowed import swallowing
from proctor.oracle.gaming.syntax import FUNCTIONS, Function, called, children, dotted, is_certain, shape, walk
from proctor.words import Gaming, Weight

_RUNS = re.compile(r"inline_?callbacks|gen_test|coroutine|cocotb|defer|engine", re.IGNORECASE)
"""Decorators that run a generator."""
_IDLE = re.compile(r"(?:pytest\.)?mark\.(?:parametrize|skip\w*|xfail|usefixtures|filterwarnings)$|(?:\w+\.)*patch\b")
"""Decorators that run nothing otherwise."""
_ANY_NAME = frozenset({"locals", "globals", "vars", "eval", "exec"})
"""What may call a function by a name that is made up."""
_LEAVES = ast.Return | ast.Break | ast.Continue


@dataclass(frozen=True)
class _Names:
    """The names that a test uses, and those of them that are an empty list."""

    used: frozenset[str]
    empty: frozenset[str]


@dataclass(frozen=True)
class _Around:
    """A guard with the condition that has to hold."""

    guard: Guard
    test: ast.expr | None = None

    def around(self, check: ast.AST) -> Guard:
        """What the guard is to an assertion: one that asks for the same never fails under it."""
        sides = pyasserts.sides(check)
        said = {shape(part) for part in walk(self.test)} if self.test else set()
        holds = any(isinstance(one, ast.Call) for one in sides) and all(shape(one) in said for one in sides)
        return Guard(HOLDS, self.guard.line, True) if holds and self.test else self.guard


def look(change: Change, tests: Mapping[str, Function], twins: Mapping[str, Function]) -> Iterator[Found]:
    """What stands around the assertions of changed tests and did not around those of the tests that they were."""
    for name, node in tests.items():
        twin = twins.get(name)
        if twin is None:
            continue
        if guard := swallowing(_checks(twin), _checks(node)):
            weight = Weight.TAMPERING if guard.certain else Weight.SUSPICION
            yield found(change, Gaming.ASSERTION, weight, guard.line, f"{name}: {guard.why}")
        if (line := _yields(node)) and not _yields(twin) and (run := _generator(node)):
            yield found(change, Gaming.ASSERTION, run, line, f"{name}: a generator, which nobody runs")


def _generator(test: Function) -> Weight | None:
    """What a test is that is a generator: some decorators run it."""
    names = {dotted(one) for one in test.decorator_list}
    if any(map(_RUNS.search, names)):
        return None
    return Weight.TAMPERING if all(map(_IDLE.match, names)) else Weight.SUSPICION


def _yields(test: Function) -> int:
    """The line of a `yield` of a test's own; 0 for none."""
    waiting: list[ast.AST] = list(test.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return node.lineno
        if not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            waiting += children(node)
    return 0


def _checks(test: Function) -> list[Check]:
    return list(_inside(test.body, (), _names(test)))


def _names(test: Function) -> _Names:
    parts = list(walk(test))
    idle = {id(part.value) for part in parts if isinstance(part, ast.Expr) or _is_thrown_away(part)}
    names = [part for part in parts if isinstance(part, ast.Name)]
    used = Counter(one.id for one in names if isinstance(one.ctx, ast.Load) and id(one) not in idle)
    given = Counter(one.id for one in names if not isinstance(one.ctx, ast.Load))
    loops = Counter(part.iter.id for part in parts if isinstance(part, ast.For) and isinstance(part.iter, ast.Name))
    empty = {one.id for part in parts if isinstance(part, ast.Assign) and _is_empty(part.value) for one in _only(part)}
    never = {name for name in empty if given[name] == 1 and used[name] == loops[name]}
    return _Names(frozenset(used), frozenset(never))


def _is_thrown_away(node: ast.AST) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and [one.id for one in _only(node)] == ["_"]


def _only(node: ast.Assign) -> list[ast.Name]:
    """The one name that an assignment gives something; none for more."""
    return [one for one in node.targets if isinstance(one, ast.Name)] if len(node.targets) == 1 else []


def _is_empty(node: ast.expr) -> bool:
    """Whether there is nothing to go over."""
    if isinstance(node, ast.Call):
        return dotted(node) == "range" and [getattr(one, "value", None) for one in node.args] == [0]
    return isinstance(node, ast.List | ast.Tuple) and not node.elts


def _inside(nodes: Iterable[ast.AST], guards: tuple[_Around, ...], names: _Names) -> Iterator[Check]:
    """The assertions in some pieces of syntax that stand under these guards. `names` are those that the test
    uses."""
    for node in nodes:
        if pyasserts.is_real(node):
            yield Check((str(shape(node)),), getattr(node, "lineno", 0), tuple(one.around(node) for one in guards))
            continue
        for parts, guard in _under(node, names):
            yield from _inside(parts, (*guards, guard) if guard else guards, names)


def _under(node: ast.AST, names: _Names) -> Iterator[tuple[Iterable[ast.AST], _Around | None]]:
    """The parts of a piece of syntax, each with what has to hold that they are run."""
    line = getattr(node, "lineno", 0)
    match node:
        case ast.If(test, body, orelse):
            never, always = isinstance(test, ast.Constant) and not test.value, is_certain(test)
            asks = any(map(pyasserts.real, body)) != any(map(pyasserts.real, orelse)) and not any(map(_fails, body))
            asks = asks and not _is_where(test)
            held = _Around(Guard(CONDITION, line, False), test) if asks and not always else None
            yield body, _Around(Guard(NEVER, line, True)) if never else held
            yield orelse, _Around(Guard(NEVER, line, True)) if always else held
        case ast.BoolOp(_, [first, *rest]):
            yield rest, _Around(Guard(CONDITION, line, False), first)
        case ast.IfExp(test, body, orelse):
            yield (body, orelse), _Around(Guard(CONDITION, line, False), test)
        case ast.ClassDef(name, body=body):
            idle = name not in names.used and not node.decorator_list
            for part in body:
                inside = part.body if isinstance(part, FUNCTIONS) else [part]
                yield inside, _Around(Guard(UNCALLED, part.lineno, False)) if idle else None
        case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) if name not in names.used and not node.decorator_list:
            yield node.body, _Around(Guard(UNCALLED, line, not _ANY_NAME & names.used))
        case ast.Assign([ast.Name(name)], ast.Lambda(_, body)) if name not in names.used:
            yield [body], _Around(Guard(UNCALLED, line, True))
        case ast.For(_, cases, body) if _is_empty(cases) or (isinstance(cases, ast.Name) and cases.id in names.empty):
            yield body, _Around(Guard(NO_CASE, line, True))
        case ast.Try(body, finalbody=[*last]) if any(isinstance(one, _LEAVES) for one in last):
            yield children(node), _Around(Guard(SWALLOWED, line, True))
        case ast.While(ast.Constant(value), body) if not value:
            yield body, _Around(Guard(NEVER, line, True))
        case ast.With(items, body) if any(_wants_failure(one.context_expr, body) for one in items):
            yield body, _Around(Guard(SWALLOWED, line, False))
        case _:
            yield children(node), None


def _wants_failure(node: ast.expr, body: list[ast.stmt]) -> bool:
    """Whether a block is to end in a failed assertion, or in any failure where it asserts."""
    if called(node) not in ("raises", "assertRaises"):
        return False
    wanted = {part.id for part in walk(node) if isinstance(part, ast.Name)}
    asserts = any(isinstance(part, ast.Assert) for one in body for part in walk(one))
    return "AssertionError" in wanted or (asserts and bool(wanted & {"Exception", "BaseException"}))


def _is_where(test: ast.expr) -> bool:
    """Whether a condition asks where the test runs."""
    names = (getattr(part, "id", getattr(part, "attr", "")) for part in walk(test))
    return bool(pyasserts.PLATFORM.search(ast.unparse(test))) or any(map(PLATFORM_NAME.fullmatch, names))


def _fails(node: ast.stmt) -> bool:
    """Whether a statement is a failure by itself: the condition that it stands under is what the test asserts."""
    return isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and called(node.value) == "fail")
