"""What a change does to Python tests: left out, expected to fail, hidden from the runner, asserting less."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from proctor.oracle.gaming import pyasserts, pysubjects, pyswallowed
from proctor.oracle.gaming.change import Change, Found, Language, found
from proctor.oracle.gaming.syntax import (
    FUNCTIONS,
    Function,
    Shape,
    children,
    dotted,
    functions,
    is_certain,
    own,
    parsed,
    shape,
    text_of,
    walk,
)
from proctor.words import Gaming, Weight

_SKIPS = re.compile(r"(?:.*\.)?(?:skip|skipif|skipIf|skipUnless|xfail|expectedFailure|SkipTest|skipTest|importorskip)")
_DEPENDS = ("skipif", "skipIf", "skipUnless", "importorskip")


@dataclass
class Suite:
    """What the changed files hold of tests in all: a test may move or get another name."""

    after: set[str] = field(default_factory=set)
    bodies: set[Shape] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    """Names of functions and classes that the sources had and have no more."""


def suite(changes: list[Change]) -> Suite:
    """What the changed Python files hold of tests."""
    found = Suite()
    had: set[str] = set()
    has: set[str] = set()
    for change in changes:
        if change.language is not Language.PYTHON:
            continue
        for text, names in ((change.before, had), (change.after, has)):
            tree = parsed(text)
            if tree is None:
                continue
            if not change.is_test:
                names |= {n.name for n in walk(tree) if isinstance(n, (*FUNCTIONS, ast.ClassDef))}
            elif names is has:
                tests = [(name, node) for name, node in functions(tree) if _is_test(name)]
                found.after |= {name.rpartition(".")[2] for name, _ in tests}
                found.bodies |= {shape(node.body) for _, node in tests}
    found.gone = had - has
    return found


def look(change: Change, old: ast.Module | None, new: ast.Module | None, all_tests: Suite) -> Iterator[Found]:
    """What a change does to the tests of one test file."""
    before = dict(_tests(old))
    after = dict(_tests(new))
    twins = _twins(before, after, all_tests.gone)
    if new is not None:
        yield from _module_skips(change, old, new)
        changed = {name: node for name, node in after.items() if not _is_same(node, twins.get(name))}
        for name, node in changed.items():
            yield from _skips(change, node, twins.get(name), name)
        yield from pyasserts.look(change, old, new, changed, twins)
        yield from pyswallowed.look(change, changed, twins)
        yield from pysubjects.look(change, old, new, changed, twins, gone=all_tests.gone)
        yield from _hidden(change, before, after, new)
    yield from _removed(change, before, twins, all_tests, new)


def _is_same(node: Function, twin: Function | None) -> bool:
    return twin is not None and shape([*node.body, *map(ast.Expr, node.decorator_list)]) == shape(
        [*twin.body, *map(ast.Expr, twin.decorator_list)]
    )


def _is_test(name: str) -> bool:
    return name.rpartition(".")[2].startswith("test")


def _tests(tree: ast.Module | None) -> Iterator[tuple[str, Function]]:
    return ((name, node) for name, node in functions(tree) if _is_test(name)) if tree else iter(())


def _twins(before: dict[str, Function], after: dict[str, Function], gone: set[str]) -> dict[str, Function]:
    """For each test the one it was: of the same name, or of another that is gone but with the same body. A test of what
    is `gone` from the sources went with that, whatever is called like it."""
    bodies = {shape(node.body): node for name, node in before.items() if name not in after}
    short = {name.rpartition(".")[2]: node for name, node in before.items()
             if name not in after and gone.isdisjoint(_names(node))}  # fmt: skip
    twins = {}
    for name, node in after.items():
        twin = before.get(name) or short.get(name.rpartition(".")[2]) or bodies.get(shape(node.body))
        if twin is not None:
            twins[name] = twin
    return twins


def _names(node: ast.AST) -> set[str]:
    """The names in a piece of syntax, and those of attributes."""
    return {part.id if isinstance(part, ast.Name) else part.attr for part in walk(node)
            if isinstance(part, ast.Name | ast.Attribute)}  # fmt: skip


# --- left out -------------------------------------------------------------------------------------


def _skips(change: Change, node: Function, twin: Function | None, name: str) -> Iterator[Found]:
    known = Counter(text for text, _, _ in _marks(twin)) if twin else Counter()
    for text, line, depends in _marks(node, twin):
        if known[text] > 0:
            known[text] -= 1
        elif twin is not None:
            weight = Weight.SUSPICION if depends else Weight.TAMPERING
            yield found(change, Gaming.SKIP, weight, line, f"{name} was run and now has {text}")
        elif not depends:
            yield found(change, Gaming.SKIP, Weight.SUSPICION, line, f"the new {name} has {text}")


def _marks(node: Function, twin: Function | None = None) -> Iterator[tuple[str, int, bool]]:
    """What leaves a test out: its text, line, and whether it hangs on a condition. `twin` is the test that it was."""
    for mark in node.decorator_list:
        name = dotted(mark)
        if _SKIPS.fullmatch(name):
            yield text_of(mark), mark.lineno, _depends(mark, name)
        elif name.endswith("parametrize") and isinstance(mark, ast.Call):
            yield from _rows(mark, twin)
    for statement in node.body:
        yield from _body_skips(statement, False)


def _rows(mark: ast.Call, twin: Function | None) -> Iterator[tuple[str, int, bool]]:
    """Rows of parameters that are left out, and a table of none: then the test is not run."""
    if len(mark.args) > 1 and isinstance(mark.args[1], ast.List | ast.Tuple) and not mark.args[1].elts:
        yield text_of(mark), mark.lineno, False
    known = {text_of(part) for old in (twin.decorator_list if twin else ()) for part in walk(old)}
    for part in walk(mark):
        if not isinstance(part, ast.Call):
            continue
        marks = [word.value for word in part.keywords if word.arg == "marks"]
        for one in marks[0].elts if marks and isinstance(marks[0], ast.List | ast.Tuple) else marks:
            row = part.args[0] if len(part.args) == 1 else ast.Tuple(part.args, ast.Load())
            if _SKIPS.fullmatch(dotted(one)) and not _depends(one, dotted(one)):
                yield text_of(part), one.lineno, text_of(row) not in known


def _body_skips(statement: ast.stmt, inside: bool) -> Iterator[tuple[str, int, bool]]:
    for part in own(statement):
        if (isinstance(part, ast.Call) or isinstance(statement, ast.Raise)) and _SKIPS.fullmatch(dotted(part)):
            yield text_of(part), statement.lineno, inside or dotted(part).endswith(_DEPENDS)
            break
    conditional = isinstance(statement, ast.If | ast.Try | ast.Match | ast.For | ast.While)
    if isinstance(statement, ast.If) and is_certain(statement.test):
        conditional = False
    for child in children(statement):
        inner = child.body if isinstance(child, ast.ExceptHandler | ast.match_case) else [child]
        for one in inner:
            if isinstance(one, ast.stmt) and not isinstance(one, (*FUNCTIONS, ast.ClassDef)):
                yield from _body_skips(one, inside or conditional)


def _depends(mark: ast.expr, name: str) -> bool:
    if not isinstance(mark, ast.Call):
        return False
    condition = mark.args[0] if mark.args else next((k.value for k in mark.keywords if k.arg == "condition"), None)
    if name.endswith("skipUnless"):
        return not (isinstance(condition, ast.Constant) and not condition.value)
    if name.endswith(_DEPENDS):
        return not is_certain(condition)
    return name.endswith("xfail") and condition is not None and not is_certain(condition)


def _module_skips(change: Change, old: ast.Module | None, new: ast.Module) -> Iterator[Found]:
    """`pytestmark`, a skip of the whole module, `__test__ = False`, hooks that leave tests out."""
    known = {shape(node) for node in walk(old)} if old else set()
    weight = Weight.TAMPERING if old is not None else Weight.SUSPICION
    statements = list(new.body)
    for node in new.body:
        statements += node.body if isinstance(node, ast.ClassDef) else []
        if isinstance(node, ast.ClassDef) and old is not None:
            for mark in node.decorator_list:
                if _SKIPS.fullmatch(dotted(mark)) and shape(mark) not in known:
                    how = Weight.SUSPICION if _depends(mark, dotted(mark)) else weight
                    yield found(
                        change, Gaming.SKIP, how, mark.lineno, f"{node.name} was run and now has {text_of(mark)}"
                    )
    for node in statements:
        if shape(node) in known:
            continue
        if isinstance(node, ast.Assign | ast.AnnAssign):
            yield from _switch(change, node, weight)
        elif isinstance(node, ast.Expr | ast.Raise) and any(_SKIPS.fullmatch(dotted(part)) for part in own(node)):
            how = Weight.SUSPICION if any(dotted(p).endswith(_DEPENDS) for p in own(node)) else weight
            yield found(change, Gaming.SKIP, how, node.lineno, "the whole module is left out")


def _switch(change: Change, node: ast.Assign | ast.AnnAssign, weight: Weight) -> Iterator[Found]:
    names = {dotted(t) for t in (node.targets if isinstance(node, ast.Assign) else [node.target])}
    if "pytestmark" in names:
        marks = [part for part in own(node) if _SKIPS.fullmatch(dotted(part))]
        if marks:
            depends = all(isinstance(m, ast.expr) and _depends(m, dotted(m)) for m in marks)
            how = Weight.SUSPICION if depends else weight
            yield found(change, Gaming.SKIP, how, node.lineno, "every test of the module is left out")
    off = isinstance(node.value, ast.Constant) and not node.value.value
    if any(name.endswith("__test__") for name in names) and off:
        yield found(change, Gaming.SKIP, weight, node.lineno, "tests are hidden from the runner by __test__")
    if names & {"collect_ignore", "collect_ignore_glob"}:
        yield found(change, Gaming.SKIP, Weight.SUSPICION, node.lineno, "files are left out of the collection")


def _hidden(
    change: Change, before: dict[str, Function], after: dict[str, Function], new: ast.Module
) -> Iterator[Found]:
    """A test whose body stands under a name that no runner takes for a test."""
    bodies = {shape(node.body): name for name, node in before.items() if name not in after}
    uses = {dotted(node) for node in walk(new) if isinstance(node, ast.Call)}
    for name, node in functions(new):
        was = bodies.get(shape(node.body))
        if was and not _is_test(name) and name.rpartition(".")[2] not in {use.rpartition(".")[2] for use in uses}:
            yield found(change, Gaming.SKIP, Weight.TAMPERING, node.lineno, f"{was} is now {name}: no runner finds it")


def _removed(
    change: Change, before: dict[str, Function], twins: dict[str, Function], tests: Suite, new: ast.Module | None
) -> Iterator[Found]:
    """Tests that are gone, unless they moved, or what they tested is gone too."""
    kept = {id(node) for node in twins.values()}
    here = {shape(node.body) for _, node in functions(new)} if new else set()
    now = dict(_tests(new))
    more = sum(len(node.decorator_list) for node in now.values()) > sum(len(n.decorator_list) for n in before.values())
    replaced = len(now) >= len(before) and pyasserts.total(now.values()) >= pyasserts.total(before.values())
    if (new is None and change.after is not None) or (new is not None and (more or replaced)):
        return  # what cannot be read is not run, either
    gone = []
    for name, node in before.items():
        moved = name.rpartition(".")[2] in tests.after or shape(node.body) in tests.bodies | here
        if not (id(node) in kept or moved or _names(node) & tests.gone):
            gone.append((node.lineno, name))
    if gone:
        line, name = min(gone)
        why = f"{name} is gone" + (f", and {len(gone) - 1} more" if len(gone) > 1 else "")
        yield found(change, Gaming.ASSERTION, Weight.SUSPICION, line, why, gone=True)
