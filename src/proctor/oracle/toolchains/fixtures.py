"""Whether a `conftest.py` does no more than give fixtures to the tests beside it. Pure.

Pytest loads such a file before it collects, and lets it take a hand in every test by its hooks. One in a folder of new
tests that defines fixtures and helpers is honest work, without which those tests could not run; it can do no more than
the tests themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

_DECORATORS = frozenset({"fixture", "contextmanager", "asynccontextmanager", "staticmethod", "classmethod", "property"})
_MAKES = frozenset({"Path", "PurePath", "frozenset", "set", "dict", "list", "tuple", "timedelta", "Decimal"})
"""What may be called as the file is loaded."""
_MODULES = frozenset({"builtins", "_pytest", "pluggy", "atexit", "gc", "ctypes", "sys", "importlib", "inspect"})
"""What a fixture has no need of, and what would reach the runner."""


def gives_fixtures_only(source: bytes) -> bool:
    """Whether nothing runs when the file is loaded but imports, definitions and plain values, and it has no hook."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return not names & {"pytest_plugins", "globals", "vars", "exec", "eval", "__import__"} and _all_plain(tree.body)


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


def _is_value(node: ast.expr) -> bool:
    """Whether an expression only makes a value."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and _last(one.func) not in _MAKES:
            return False
        if isinstance(one, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
            return False
    return True


def _last(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
