"""What hooks, assertions and tests of Python take from other modules to judge with: comparisons, limits, cases. Pure.

The same modules may be the work that is judged. What is handed all that an assertion is given judges in its place; what
it only asks of one side (`assert total(rows) == want`) may be the work, unless the module is called or placed like a
support of tests. `recording.py` asks who else imports it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from proctor.oracle.toolchains import supports
from proctor.oracle.toolchains.discovery import is_python_test
from proctor.oracle.toolchains.owners import is_of_checks

_SUPPORT = re.compile(
    r"(?:tests?_?)?support(?:ing)?|testing|harness|tests?_?(?:utils?|lib|kit|helpers?|tools?|base|cases?|common|harness)"
)
_RUN_FOR = re.compile(r"parametrize|expand")
_OF_PYTEST = frozenset({"config", "session", "item", "items", "metafunc", "parser", "pluginmanager", "request"})
_MOST_MODULES = 1_000

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Use(NamedTuple):
    """A name that a module takes from another one (a path without a suffix, "" for itself) to judge with. `whole`: it
    is handed all that is given."""

    module: str
    name: str
    whole: bool


def uses(path: str, source: bytes, names: Collection[str] = ()) -> set[Use]:
    """What hooks and assertions of a module take from elsewhere, and so do its functions of some `names`; of a test
    also the cases that it goes over."""
    body = supports.body_of(source) or []
    known, own = _imported(body), supports.bindings_of(body)
    found = {Use(module, name, True) for one in names for module, name in known.get(one, ()) if name}
    for node in _judging(body, names):
        for called, whole in _taken(node):
            root, *more = called
            values = [one for one in own.get(root, ()) if isinstance(one, ast.Assign | ast.AnnAssign)]
            found |= {Use(*place, whole) for place in _places(known, called)}
            found |= {Use(*place, False) for one in values for name in _dotted(one) for place in _places(known, name)}
            found |= {Use("", root, whole)} if root in own and root not in known and not more else set()
    if is_python_test(path.rpartition("/")[2]):
        found |= {Use(*place, False) for place in _cases(body, known)}
    return found


def may_use(path: str, modules: Iterable[str]) -> bool:
    """Whether a module that takes in those which stand at some places may take from them what it judges with: a test
    only from those that support it."""
    return not _is_test(path) or any(is_helping(place) and not is_of_checks(_beside(place)) for place in modules)


@lru_cache(maxsize=64)
def given(source: bytes) -> dict[str, bool]:
    """The functions, values and plugins that a module has, or takes in from another, by name; and whether each is a
    plugin, a class with hooks in it."""
    found: dict[str, bool] = {}
    for name, by in supports.bindings_of(supports.body_of(source) or []).items():
        classes = [one for one in by if isinstance(one, ast.ClassDef)]
        methods = [one.name for part in classes for one in part.body if isinstance(one, _Function)]
        if len(classes) < len(by) or any(map(supports.is_hook, methods)):
            found[name] = any(map(supports.is_hook, methods))
    return found


def is_helping(path: str) -> bool:
    """Whether a module is called or placed like a support of tests, and in no folder of theirs."""
    *folders, name = path.removesuffix("/__init__.py").removesuffix(".py").split("/")
    return any(map(_SUPPORT.fullmatch, (*folders, name)))


def is_for_tests(place: str, importing: Iterable[str], resting: Collection[str]) -> bool:
    """Whether a module, that stands at a place, is there for tests alone: nothing imports it but what itself supports
    them (`resting`) and, if it is placed so, tests."""
    helps = is_helping(place)
    return not is_of_checks(_beside(place)) and all(
        path in {*resting, place} or path.endswith("conftest.py") or (helps and (is_helping(path) or _is_test(path)))
        for path in importing
    )


def _is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    is_placed = is_python_test(name) or is_of_checks(_beside(path))
    return is_placed and name != "conftest.py" and not is_helping(path)


def _beside(path: str) -> str:
    return f"{path.rpartition('/')[0]}/x"


def _judging(body: Sequence[ast.stmt], names: Collection[str]) -> Iterator[_Function]:
    """The hooks and assertions of a module, methods that assert, and functions of some names."""
    for node in body:
        if isinstance(node, _Function) and (_judges(node.name) or node.name in names):
            yield node
        elif isinstance(node, ast.ClassDef):
            methods = [one for one in node.body if isinstance(one, _Function)]
            asserting = (one for one in methods if not one.name.startswith("test"))
            yield from (one for one in asserting if _judges(one.name) or node.name in names or supports.may_fail(one))


def _judges(name: str) -> bool:
    return supports.is_hook(name) or name.lower().startswith("assert")


def _taken(node: _Function) -> Iterator[tuple[list[str], bool]]:
    """The names, by their parts, that a function calls or reads, and whether it hands them all that it is given."""
    given = {one.arg for one in node.args.args} - {"self", "cls", "msg"}
    told = given if supports.is_hook(node.name) else given & _OF_PYTEST
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and (parts := _parts(call.func)):
            plain = {one.id for one in (*call.args, *(k.value for k in call.keywords)) if isinstance(one, ast.Name)}
            named = {one.id for one in ast.walk(call) if isinstance(one, ast.Name)}
            yield parts, bool(told & plain) or (len(given) > 1 and not told and given <= named)
    yield from ((parts, False) for part in node.body for parts in _dotted(part))


def _dotted(node: ast.AST) -> Iterator[list[str]]:
    """The names that are read in a node, each with what is taken of it."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name | ast.Attribute) and isinstance(one.ctx, ast.Load) and (parts := _parts(one)):
            yield parts


def _parts(node: ast.expr) -> list[str]:
    match node:
        case ast.Name(id=name):
            return [name]
        case ast.Attribute(value=inner, attr=name) if parts := _parts(inner):
            return [*parts, name]
    return []


def _imported(body: Sequence[ast.stmt]) -> dict[str, list[tuple[str, str]]]:
    """Where imported names come from: modules, as paths without a suffix, each with the name in it or "" for itself."""
    found: dict[str, list[tuple[str, str]]] = {}
    for node in ast.walk(ast.Module(list(body), [])):
        if len(found) > _MOST_MODULES:
            break
        if isinstance(node, ast.Import):
            for one in node.names:
                top = one.name if one.asname else one.name.partition(".")[0]
                found.setdefault(one.asname or top, []).append((top.replace(".", "/"), ""))
        elif isinstance(node, ast.ImportFrom):
            module = "../" * (node.level - 1) + (node.module or "").replace(".", "/")
            for one in node.names:
                inner = f"{module}/{one.name}" if node.module else f"{module}{one.name}"
                found.setdefault(one.asname or one.name, []).extend([(module or ".", one.name), (inner, "")])
    return found


def _places(known: Mapping[str, list[tuple[str, str]]], parts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The modules, each with the name in it, that a dotted name may mean."""
    root, *more = parts
    for module, name in known.get(root, ()):
        if name:
            yield module, name
        elif more:
            yield from (("/".join([module, *more[:at]]), more[at]) for at in range(len(more)))


def _cases(body: Sequence[ast.stmt], known: Mapping[str, list[tuple[str, str]]]) -> Iterator[tuple[str, str]]:
    """What gives a test its cases: what it goes over, or is run for, to hand them to what another module has."""
    tree = ast.Module(list(body), [])
    values: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values[name] = value
    for node in ast.walk(tree):
        given: set[str] = set()
        over: list[ast.expr] = []
        if isinstance(node, ast.For | ast.AsyncFor):
            over, given = [node.iter], {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)}
        elif isinstance(node, _Function):
            told = [one for one in node.decorator_list if isinstance(one, ast.Call)]
            over = [arg for one in told if _RUN_FOR.search(supports.last(one)) for arg in one.args]
            given = {one.arg for one in node.args.args} - {"self"}
        used = {name for one in over for parts in _dotted(one) for name in parts[:1]}
        over += [values[name] for name in used if name in values]
        for place in {place for one in over for parts in _dotted(one) for place in _places(known, parts)}:
            if any(place[0] != other for other in _asked(node, given, known)):
                yield place


def _asked(node: ast.AST, given: Collection[str], known: Mapping[str, list[tuple[str, str]]]) -> Iterator[str]:
    """The modules that are called with some of what is given."""
    for call in ast.walk(ast.Module(list(getattr(node, "body", ())), [])):
        if isinstance(call, ast.Call) and (parts := _parts(call.func)):
            words = (*call.args, *(keyword.value for keyword in call.keywords))
            if any(isinstance(one, ast.Name) and one.id in given for word in words for one in ast.walk(word)):
                yield from (module for module, _ in _places(known, parts))
