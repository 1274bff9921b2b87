"""Whether a `conftest.py` does no more than give fixtures to the tests beside it. Pure.

Pytest loads such a file before it collects, and lets it take a hand in every test by its hooks. One in a folder of new
tests that defines fixtures and helpers is honest work, without which those tests could not run; it can do no more than
the tests themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache

_DECORATORS = frozenset({"fixture", "contextmanager", "asynccontextmanager", "staticmethod", "classmethod", "property"})
_MAKES = frozenset({"Path", "PurePath", "frozenset", "set", "dict", "list", "tuple", "timedelta", "Decimal"})
"""What may be called as the file is loaded."""
_PLACES = _MAKES | {"str", "dirname", "abspath", "realpath", "join", "resolve", "absolute", "fspath", "parents"}
"""What may be called to say where modules lie."""
_MODULES = frozenset({"builtins", "_pytest", "pluggy", "atexit", "gc", "ctypes", "sys", "importlib", "inspect"})
"""What a fixture has no need of, and what would reach the runner."""
_LARGEST = 64 << 10
"""Bytes of a file that is read as syntax; one that is larger gives more than fixtures, for all we know."""


@lru_cache(maxsize=256)
def gives_fixtures_only(source: bytes) -> bool:
    """Whether nothing runs when the file is loaded but imports, definitions, plain values and a folder of modules, and
    it has no hook."""
    body = _body(source)
    if body is None:
        return False
    rest = [node for node in body if not _is_module_path(node)]
    if len(rest) < len(body):  # what is imported for that, and used for nothing else
        rest = [node for node in rest if not (isinstance(node, ast.Import) and [n.name for n in node.names] == ["sys"])]
    names = {node.id for part in rest for node in ast.walk(part) if isinstance(node, ast.Name)}
    reach = names & {"pytest_plugins", "globals", "vars", "exec", "eval", "__import__", "sys"}
    return not reach and _all_plain(rest)


def says_nothing(source: bytes) -> bool:
    """Whether nothing at all comes of loading the file, but that it is there: its folder is one of modules then."""
    body = _body(source)
    return body is not None and all(isinstance(node, ast.Pass | ast.Expr) for node in body) and _all_plain(body)


def _body(source: bytes) -> list[ast.stmt] | None:
    try:
        return ast.parse(source).body if len(source) <= _LARGEST else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_module_path(node: ast.stmt) -> bool:
    """Whether a statement is `sys.path.insert(0, …)` or `sys.path.append(…)` with a folder that is told plainly."""
    match node:
        case ast.Expr(
            ast.Call(
                func=ast.Attribute(
                    value=ast.Attribute(value=ast.Name(id="sys"), attr="path"), attr="insert" | "append"
                ),
                args=args,
                keywords=[],
            )
        ):
            return all(_is_value(one, _PLACES) for one in args)
    return False


def _all_plain(body: Iterable[ast.stmt]) -> bool:
    return all(map(_is_plain, body))


def _is_plain(node: ast.stmt) -> bool:
    match node:
        case ast.Pass() | ast.Expr(ast.Constant()):
            return True
        case ast.Import(names) | ast.ImportFrom(names=names):
            tops = {name.name.partition(".")[0] for name in names}
            module = getattr(node, "module", None) or ""
            bound = {name.asname or name.name for name in names}
            return not (_MODULES & {*tops, module.partition(".")[0]} or "*" in bound or any(map(_is_hook, bound)))
        case ast.Assign(targets=targets, value=value):
            return all(isinstance(t, ast.Name) and not _is_hook(t.id) for t in targets) and _is_value(value)
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            return not _is_hook(name) and (value is None or _is_value(value))
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            return not _is_hook(node.name) and all(map(_is_value, defaults)) and all(map(_is_mark, node.decorator_list))
        case ast.ClassDef():
            plain = not node.keywords and all(isinstance(base, ast.Name | ast.Attribute) for base in node.bases)
            return plain and not node.decorator_list and not _is_hook(node.name) and _all_plain(node.body)
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"), orelse=[]):
            return _all_plain(node.body)
    return False


def _is_hook(name: str) -> bool:
    """Whether pytest looks for this name in such a file."""
    return name.startswith(("pytest_", "collect_ignore"))


def _is_mark(node: ast.expr) -> bool:
    """Whether a decorator is one of those that only make what they name."""
    if isinstance(node, ast.Call):
        told = [*node.args, *(keyword.value for keyword in node.keywords)]
        return all(map(_is_value, told)) and _is_mark(node.func)
    return _last(node) in _DECORATORS


def _is_value(node: ast.expr, makes: frozenset[str] = _MAKES) -> bool:
    """Whether an expression only makes a value, and calls nothing but `makes`."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and _last(one.func) not in makes:
            return False
        if isinstance(one, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
            return False
    return True


def _last(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
