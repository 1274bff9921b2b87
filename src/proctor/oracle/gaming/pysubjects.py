"""Whether a Python test still asks what it was written for: the function it asserts on, replaced inside the test."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from proctor.oracle.gaming.change import Change, Found, found
from proctor.oracle.gaming.syntax import FUNCTIONS, Function, called, dotted, imported, shape, walk
from proctor.words import Gaming, Weight

STAND_INS = (
    "Mock",
    "MagicMock",
    "AsyncMock",
    "NonCallableMock",
    "create_autospec",
    "mock_open",
    "SimpleNamespace",
    "stub",
)
_PATCHES = ("patch", "object", "setattr", "setitem")


def look(
    change: Change, old: ast.Module | None, new: ast.Module, tests: dict[str, Function], twins: dict[str, Function]
) -> Iterator[Found]:
    """What stands in, in changed tests or in their file, for a function that tests asked for and still ask for."""
    if old is None:
        return
    known = {shape(part) for part in walk(old) if isinstance(part, ast.stmt | ast.Call)}
    names = imported(old)
    asked = {name for node in twins.values() for name in asked_of(node) if name.partition(".")[0] in names}
    asked &= {name for node in walk(new) if isinstance(node, FUNCTIONS) for name in asked_of(node)}
    if not asked:
        return
    inside = {id(part) for node in tests.values() for part in walk(node)}
    local = {id(part) for node in walk(new) if isinstance(node, FUNCTIONS) for part in walk(node) if part is not node}
    for part in walk(new):
        if id(part) in local and id(part) not in inside:
            continue
        if isinstance(part, ast.stmt | ast.Call) and shape(part) not in known and (name := _stands(part, asked)):
            why = f"the test asserts on a stand-in of {name}"
            yield found(change, Gaming.ASSERTION, Weight.TAMPERING, part.lineno, why)


def asked_of(node: ast.AST) -> set[str]:
    """What the assertions of a test call themselves, or by a variable."""
    bound: dict[str, str] = {}
    names: set[str] = set()
    for part in walk(node):
        if isinstance(part, ast.Assign) and len(part.targets) == 1 and isinstance(part.value, ast.Call | ast.Await):
            value = part.value.value if isinstance(part.value, ast.Await) else part.value
            if isinstance(value, ast.Call) and isinstance(part.targets[0], ast.Name):
                bound[part.targets[0].id] = dotted(value)
    for part in walk(node):
        for given in _sides(part):
            side = given.value if isinstance(given, ast.Await) else given
            if isinstance(side, ast.Call):
                names.add(dotted(side))
            elif isinstance(side, ast.Name):
                names.add(bound.get(side.id, ""))
    return names - {"", "len", "str", "repr", "list", "sorted"}


def _sides(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assert):
        test = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
        return [test.left, *test.comparators] if isinstance(test, ast.Compare) else [test]
    if isinstance(node, ast.Call) and called(node).startswith("assert"):
        return node.args[:2]
    return []


def _stands(node: ast.stmt | ast.Call, asked: set[str]) -> str:
    """The name that a statement, or a patch, gives to something else."""
    if isinstance(node, FUNCTIONS):
        patched = any(called(one) in _PATCHES or dotted(one).endswith("patch") for one in node.decorator_list)
        taken = {one.arg for one in node.args.args} & asked if patched else set[str]()
        return node.name if node.name in asked else next(iter(sorted(taken)), "")
    if isinstance(node, ast.Assign):
        stands = isinstance(node.value, ast.Lambda) or called(node.value) in STAND_INS
        return next((name for one in node.targets if (name := dotted(one)) in asked), "") if stands else ""
    if isinstance(node, ast.ImportFrom) and (node.module or "") in ("unittest.mock", "mock"):
        return next((one.asname for one in node.names if one.asname and one.asname in asked), "")
    if isinstance(node, ast.With):
        for item in node.items:
            given = item.optional_vars
            if called(item.context_expr) in _PATCHES and isinstance(given, ast.Name) and given.id in asked:
                return given.id
    if isinstance(node, ast.Call) and called(node) in _PATCHES:
        words = [dotted(one) or str(getattr(one, "value", "")) for one in node.args[:2]]
        wanted = {name for name in asked if "." in name}
        return next((name for name in (words[0] if words else "", ".".join(words)) if name in wanted), "")
    return ""
