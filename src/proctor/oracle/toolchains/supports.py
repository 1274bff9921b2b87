"""Modules in Python that tests rest on as on themselves, wherever they stand: plugins of pytest, modules that give a
`conftest.py` its fixtures, base classes and assertions of tests. Pure.

Such a module may be part of the work as well. So it counts by a part: what reaches into tests, with what that rests on.
All else in it may change, and it may grow, but by no hook.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from unittest import IsolatedAsyncioTestCase

from proctor.oracle.toolchains.mentions import PYTESTS_OWN, places, plugins
from proctor.oracle.toolchains.modules import taken_in
from proctor.oracle.toolchains.owners import is_of_checks

_ROOTS = ("", "src/", "lib/")
_STAR = re.compile(r"^from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+\*", re.MULTILINE)
_DERIVES = re.compile(r"^[ \t]*class[ \t]+\w+[ \t]*\(([^()]{1,500})\)", re.MULTILINE)
_ASSERTS = re.compile(r"^[ \t]+(?:await[ \t]+)?((?:\w+\.)*assert\w*)[ \t]*\(", re.MULTILINE | re.IGNORECASE)
_KNOWN = frozenset({"self", "cls", "assert", "object", "unittest", "TestCase", "IsolatedAsyncioTestCase"})
_TRIES = re.compile(r"[rR]aises\([^()\n]*\bAssertionError\b")
"""A test of what asserts: then that is the work."""
_ENTRY_POINTS = re.compile(
    r"^[^\n#]*\bpytest11\b[\"']?\]?[ \t]*=?[ \t]*$((?:\n(?!\[|[^\n]*=[ \t]*$)[^\n]*)*)", re.MULTILINE
)
_ENTRY = re.compile(r"^\s*[\"']?[\w.-]+[\"']?\s*=\s*[\"']?([A-Za-z_][\w.]*)", re.MULTILINE)
_ABOUT = re.compile(r"^\s*name\s*=\s*[\"']?pytest[-_]", re.MULTILINE)
_MODULES = re.compile(r"[A-Za-z_][\w.]*")
_VARIABLE = "PYTEST_PLUGINS="
_RAISES = re.compile(r"raises\w*\(", re.IGNORECASE)
_CASE = re.compile(r".*Test(?:s|Case|Base|Mixin)?")
_MIXED_IN = re.compile(r".*(?:Test|Mixin)\w*|.*(?<!Use)Case")
_OF_CASES = re.compile(r"(?:setup|teardown)_(?:method|class)|pytest_\w+")
_AROUND = re.compile(r"setUp\w*|tearDown\w*")
_FAILS = re.compile(r"assert\w+|fail|\w*[rR]aises\w*|AssertionError", re.IGNORECASE)
_UNITTESTS = frozenset(dir(IsolatedAsyncioTestCase))
_CASES = frozenset({"TestCase", "IsolatedAsyncioTestCase"})
_PLAIN = frozenset({"staticmethod", "classmethod", "property", "contextmanager"})
"""Decorators that do nothing else as a class is made."""
_IN_ANNOTATIONS = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List, ast.BinOp)
_REACHES = frozenset({"globals", "vars", "setattr", "delattr", "exec", "eval"})
_LARGEST = 256 << 10
"""Bytes of a module that is read as syntax; a larger one counts to the byte."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def of_commands(checks: Iterable[Sequence[str]]) -> set[str]:
    """The modules that commands have pytest load as plugins, as paths without a suffix."""
    found: set[str] = set()
    for argv in checks:
        words = [part for word in argv for part in word.split()]
        told = [value for option, value in pairwise(words) if option == "-p"] if "pytest" in " ".join(words) else []
        told += [word.removeprefix(_VARIABLE) for word in words if word.startswith(_VARIABLE)]
        found |= _paths(name for one in told for name in one.split(",") if _MODULES.fullmatch(name))
    return found


def of_settings(path: str, text: str) -> set[str]:
    """The modules that a file has pytest load as plugins, as paths without a suffix: those that a `conftest.py` or
    another plugin names or takes all names from, that settings name, and the project's own entry points."""
    name = path.rpartition("/")[2]
    found = plugins(text) if name in PYTESTS_OWN or "pytest_plugins" in text else set()
    if name.endswith(".py"):
        stars = _STAR.findall(text) if "import *" in text else []
        return _paths(found) | {"../" * (len(dots) - 1) + top.replace(".", "/") for dots, top in stars if _is_own(top)}
    if "pytest11" in text and not _ABOUT.search(text):
        found |= {module for table in _ENTRY_POINTS.findall(text) for module in _ENTRY.findall(table)}
    return _paths(found)


def rests_on(path: str, text: str) -> tuple[set[str], set[str]]:
    """The modules that a test, or a module that supports tests, has classes to derive from or assertions of (of a
    `conftest.py` all that it imports), which support tests if they hold such (`is_support`); and those whose assertions
    it tries, which are the work. Paths without a suffix."""
    if not path.endswith(".py"):
        return set(), set()
    given = list(taken_in(text))
    if _TRIES.search(text):
        asserts, tried = set[str](), {module for module, _ in given}
    else:
        raising = _raising(text)
        asserts, tried = set(_ASSERTS.findall(text)) - raising, _giving(given, raising)
    if path.rpartition("/")[2] == "conftest.py":
        return {module for module, _ in given if _is_own(module)}, tried
    bases = {part.strip() for listed in _DERIVES.findall(text) for part in listed.split(",")}
    return _giving(given, bases | asserts), tried


def _giving(given: Iterable[tuple[str, Collection[str]]], used: Iterable[str]) -> set[str]:
    """The modules of which some of the names are that are used, as written."""
    roots = {name.partition(".")[0] for name in used} - _KNOWN
    return {module for module, names in given if not roots.isdisjoint(names)}


def standing(path: str, modules: Iterable[str]) -> set[str]:
    """Where modules that a file names may stand."""
    names = [f"{root}{module}{end}" for module in modules for root in _ROOTS for end in (".py", "/__init__.py")]
    return places(path.rpartition("/")[0], names)


def is_support(of: str, place: str, source: bytes) -> bool:
    """Whether a module holds fixtures or hooks for a `conftest.py`, or classes and assertions for other tests `of`. One
    that is placed like a test is looked at as a helper of tests, and may change."""
    body = _body(source)
    if of.rpartition("/")[2] == "conftest.py":
        return any(_is_fixture(node) or any(map(_is_hook, _bound(node))) for node in body or ())
    return not is_of_checks(f"{place.rpartition('/')[0]}/x") and any(_is_of_cases(node) for node in body or ())


def holds(source: bytes) -> bool:
    """Whether a module holds anything that reaches into tests."""
    return any(
        _is_fixture(node) or _is_of_cases(node) or any(map(_is_hook, _bound(node))) for node in _body(source) or ()
    )


def is_same(before: bytes, after: bytes) -> bool:
    """Whether what reaches into tests is as it was, and nothing of the kind that does so unasked has come."""
    if before == after:
        return True
    old, new = _body(before), _body(after)
    if old is None or new is None:
        return False
    was, now = _bindings(old), _bindings(new)
    if any(_is_hook(name) and name not in was for name in now) or _unasked(new) - _unasked(old):
        return False
    core = _core(old, was)
    if not core:
        return True
    stars = [[ast.dump(node) for node in body if _bound(node) == {"*"}] for body in (old, new)]
    strays = [[ast.dump(node) for node in body if _is_stray(node, core)] for body in (old, new)]
    methods = {
        one.name for node in old if isinstance(node, ast.ClassDef) for one in node.body if isinstance(one, _Function)
    }
    same = all(_said(was[name]) == _said(_without_more(was[name], now.get(name, []), methods)) for name in core)
    return same and stars[0] == stars[1] and strays[0] == strays[1] and not (now.keys() - was.keys()) & _used(old, core)


def _raising(text: str) -> set[str]:
    """The assertions that a test wants to see raise, as written: `with raises(ValueError): assert_valid(-1)`."""
    found: set[str] = set()
    for node in ast.walk(ast.Module(_parsed(text) or [], [])) if _RAISES.search(text) else ():
        match node:
            case ast.With(items, body) | ast.AsyncWith(items, body):
                if any(_is_raising(item.context_expr) for item in items):
                    calls = (one for part in body for one in ast.walk(part) if isinstance(one, ast.Call))
                    found |= {ast.unparse(one.func) for one in calls if _asserts(one.func)}
            case ast.Call(func, args) if _is_raising(func):
                found |= {ast.unparse(one) for arg in args for one in ast.walk(arg) if _asserts(one)}
    return found


def _is_raising(node: ast.expr) -> bool:
    return bool(_RAISES.match(f"{_last(node).removeprefix('assert')}("))


def _asserts(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and _last(node).lower().startswith("assert")


def _paths(names: Iterable[str]) -> set[str]:
    return {name.replace(".", "/") for name in names if _is_own(name)}


def _is_own(module: str) -> bool:
    """Whether a module may be one of the tests' own: a project called like pytest is about its plugin."""
    return not module.lstrip("./").startswith(("pytest", "_pytest"))


def _parsed(source: str | bytes) -> list[ast.stmt] | None:
    try:
        return ast.parse(source).body if len(source) <= _LARGEST else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _body(source: bytes) -> list[ast.stmt] | None:
    """What a module says at its top, without what does nothing: documentation and plain annotations."""
    body = _parsed(source)
    for node in ast.walk(ast.Module(body or [], [])):
        if isinstance(node, _Function | ast.ClassDef) and _is_text(node.body[0]):
            node.body[0] = ast.Pass()
        if isinstance(node, _Function) and _says_types_only(node.returns):
            node.returns = None
        if isinstance(node, ast.arg) and _says_types_only(node.annotation):
            node.annotation = None
    return body


def _says_types_only(node: ast.expr | None) -> bool:
    """Whether an annotation does nothing as it is read."""
    if node is None:
        return True
    return all(isinstance(one, (*_IN_ANNOTATIONS, ast.expr_context, ast.BitOr)) for one in ast.walk(node))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_hook(name: str) -> bool:
    return name.startswith(("pytest_", "collect_ignore"))


def _last(node: ast.expr) -> str:
    match node:
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return _last(inner)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _is_fixture(node: ast.stmt) -> bool:
    return isinstance(node, _Function) and any(_last(one).endswith("fixture") for one in node.decorator_list)


def _is_of_cases(node: ast.stmt) -> bool:
    """Whether a definition is a class that tests derive from, or asserts for them."""
    if isinstance(node, _Function):
        return node.name.lower().startswith("assert") and _may_fail(node)
    if not isinstance(node, ast.ClassDef):
        return False
    if any(_CASE.fullmatch(_last(base)) for base in node.bases):
        return True
    methods, names = [one for one in node.body if isinstance(one, _Function)], [node.name, *map(_last, node.bases)]
    return any(
        _OF_CASES.fullmatch(one.name)
        or (one.name.lower().startswith("assert") and _may_fail(one))
        or (_AROUND.fullmatch(one.name) and (any(map(_MIXED_IN.fullmatch, names)) or _goes_on(one)))
        for one in methods
    )


def _may_fail(node: _Function) -> bool:
    """Whether a function fails tests, by itself or by what it is called like."""
    return any(
        isinstance(one, ast.Assert) or (isinstance(one, ast.Name | ast.Attribute) and _FAILS.fullmatch(_last(one)))
        for one in ast.walk(node)
    )


def _goes_on(node: _Function) -> bool:
    """Whether a method of a class does what one of its name does in the next one, as those of mixed-in classes do, or
    what a test's can do."""
    return any(
        isinstance(one, ast.Attribute)
        and (one.attr in _UNITTESTS - {node.name} or (one.attr == node.name and _last(one.value) == "super"))
        for one in ast.walk(node)
    )


def _unasked(body: Iterable[ast.stmt]) -> set[str]:
    """Fixtures that every test gets."""
    return {
        node.name
        for node in body
        if isinstance(node, _Function) and "autouse" in "".join(map(ast.dump, node.decorator_list))
    }


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement at the top gives something to, `*` for all of a module."""
    if isinstance(node, _Function | ast.ClassDef):
        return {node.name}
    found: set[str] = set()
    for one in ast.walk(node):
        match one:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Import(names) | ast.ImportFrom(names=names):
                found |= {(name.asname or name.name).partition(".")[0] for name in names}
    return found


def _said(given: Iterable[ast.stmt | str]) -> list[str]:
    return [one if isinstance(one, str) else ast.dump(one) for one in given]


def _without_more(
    was: Sequence[ast.stmt | str], now: Sequence[ast.stmt | str], methods: Collection[str]
) -> Sequence[ast.stmt | str]:
    """What a name is given, without methods that have come to a class of tests and come before no other: those that
    are called like no method of a test's class, nor of the module's."""
    match was, now:
        case [ast.ClassDef() as old], [ast.ClassDef() as new] if any(_last(base) in _CASES for base in old.bases):
            kept = [one for one in new.body if not (isinstance(one, _Function) and _is_more(one, methods))]
            return [ast.ClassDef(new.name, new.bases, new.keywords, kept or [ast.Pass()], new.decorator_list)]
    return now


def _is_more(node: _Function, methods: Collection[str]) -> bool:
    plain = all(isinstance(one, ast.Name) and one.id in _PLAIN for one in node.decorator_list)
    defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    types = [node.returns, *(one.annotation for one in ast.walk(node.args) if isinstance(one, ast.arg))]
    return (
        plain
        and all(isinstance(one, ast.Constant | ast.Name) for one in defaults)
        and all(map(_says_types_only, types))
        and node.name not in _UNITTESTS | set(methods)
        and not node.name.startswith(("__", "test", "pytest_", "setup", "teardown"))
    )


def _bindings(body: Iterable[ast.stmt]) -> dict[str, list[ast.stmt | str]]:
    """What each name at the top is given, in order; of an import only what is of that name."""
    found: dict[str, list[ast.stmt | str]] = {}
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            source = f"{getattr(node, 'level', '')} {getattr(node, 'module', '')}"
            for name in node.names:
                bound = (name.asname or name.name).partition(".")[0]
                found.setdefault(bound, []).append(f"{source} {name.name}")
        else:
            for bound in _bound(node):
                found.setdefault(bound, []).append(node)
    return found


def _core(body: Sequence[ast.stmt], bindings: Collection[str]) -> set[str]:
    """The names that reach into tests, and those they rest on: constants, imports, functions of the module's own."""
    core = {name for node in body if _is_fixture(node) or _is_of_cases(node) for name in _bound(node)}
    core |= set(filter(_is_hook, bindings))
    core |= {name for node in body for one in ast.walk(node) for name in _handed_on(one)} & set(bindings)
    rests = [(bound, _names(node)) for node in body if (bound := _bound(node))]
    may = {name for node in body if not isinstance(node, _Function | ast.ClassDef) for name in _bound(node)}
    new = core
    while new:
        used = {name for bound, names in rests if bound & new for name in names}
        new = {name for name in used & set(bindings) if name in may or name.startswith("_")} - core
        core |= new
    return core


def _handed_on(node: ast.AST) -> set[str]:
    """The functions that a hook, or an assertion, hands on what it is given: a hook any of it, an assertion of two
    things or more all of it."""
    if not isinstance(node, _Function) or not (_is_hook(node.name) or node.name.lower().startswith("assert")):
        return set()
    given = {one.arg for one in node.args.args} - {"self", "cls", "msg"}
    least = 1 if _is_hook(node.name) else max(len(given), 2)
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)]
    return {
        _last(one.func)
        for one in calls
        if len(given & {arg.id for arg in ast.walk(one) if isinstance(arg, ast.Name)}) >= least
    }


def _used(body: Iterable[ast.stmt], core: set[str]) -> set[str]:
    """The names that statements use which give core names something."""
    return {name for node in body if _bound(node) & core for name in _names(node)}


def _names(node: ast.stmt) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _is_stray(node: ast.stmt, core: set[str]) -> bool:
    """Whether a statement does something to a core name as the module is loaded, or may do so."""
    if isinstance(node, _Function | ast.ClassDef | ast.Import | ast.ImportFrom) or _bound(node):
        return False
    return any(isinstance(one, ast.Name) and one.id in core | _REACHES for one in _walk(node))


def _walk(node: ast.stmt) -> Iterator[ast.AST]:
    """What is in a statement, but for what is only run as a script."""
    is_script = isinstance(node, ast.If) and "'__name__'" in ast.dump(node.test)
    return iter(()) if is_script else ast.walk(node)
