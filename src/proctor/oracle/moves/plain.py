"""What a Python file may have beside tests that moved there: a list of what is plain, and nothing else is. Pure."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from proctor.oracle.gaming.syntax import FUNCTIONS, Function, dotted

Bound = Mapping[str, str]
"""The names that imports give, each with what it stands for, whole."""
HOOKS = ("setup", "teardown", "setUp", "tearDown", "pytest", "load_tests", "collect_ignore", "__")
"""What names begin with that are called or read unasked."""
_ONCE = frozenset({
    "setup_module", "teardown_module", "setUpModule", "tearDownModule", "setup_class", "teardown_class", "setUpClass",
    "tearDownClass", "load_tests", "collect_ignore", "collect_ignore_glob", "pytest_plugins", "pytest_addoption",
    "pytest_configure", "pytest_unconfigure", "pytest_sessionstart", "pytest_sessionfinish",
    "pytest_collection_modifyitems", "pytest_generate_tests", "pytest_terminal_summary",
})  # fmt: skip
"""Those of them that are called or read once, and not for each test."""
_REACHING = frozenset({
    "globals", "locals", "vars", "setattr", "delattr", "getattr", "exec", "eval", "builtins", "sys", "importlib", "gc",
    "ctypes", "inspect", "modules", "patch", "mock", "mocker", "attrgetter", "methodcaller", "runpy", "settrace",
    "setprofile", "atexit", "signal", "_getframe", "update", "update_wrapper", "runsource", "timeit", "loads", "write",
    "write_text", "setcontext", "environ", "register", "pluginmanager", "request", "pytestconfig", "setitem",
})  # fmt: skip
"""Names by which code reaches what is not its own."""
_FIXTURES = ("pytest.fixture", "contextlib.contextmanager", "dataclasses.dataclass")
_METHODS = ("staticmethod", "classmethod", "property")
_TYPES = ("list", "dict", "tuple", "set", "type", "frozenset")
_BASES = ("unittest.TestCase", "unittest.IsolatedAsyncioTestCase")
_SORTS = ("slow", "fast", "unit", "integration", "smoke", "regression", "network", "e2e")


def target(node: ast.AST | None, bound: Bound) -> str:
    """What a dotted name leads to: by imports, or as it is said; "" for anything else."""
    root, _, rest = dotted(node).partition(".")
    root = bound.get(root, root)
    return f"{root}.{rest}" if rest else root


def is_idle(node: ast.AST) -> bool:
    """Whether a statement says nothing."""
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def is_literal(node: ast.AST, bound: Bound) -> bool:
    """Whether a value is written out."""
    if isinstance(node, ast.Call):
        parts = [*node.args, *(word.value for word in node.keywords if word.arg == "id")]
        return len(parts) == len(node.args) + len(node.keywords) and target(node, bound) == "pytest.param" and all(
            is_literal(one, bound) for one in parts
        )  # fmt: skip
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return all(is_literal(one, bound) for one in node.elts)
    if isinstance(node, ast.Dict):
        return all(one is not None and is_literal(one, bound) for one in (*node.keys, *node.values))
    if isinstance(node, ast.UnaryOp):
        return is_literal(node.operand, bound)
    return isinstance(node, ast.Constant)


def is_frail(node: ast.AST) -> bool:
    """Whether a value may be another one later without being given anew."""
    return not isinstance(node, ast.Constant | ast.UnaryOp) and not (
        isinstance(node, ast.Tuple) and not any(map(is_frail, node.elts))
    )


def is_type(node: ast.AST | None, bound: Bound) -> bool:
    """Whether an annotation does nothing as it is read."""
    if isinstance(node, ast.Subscript):
        base = target(node.value, bound)
        if not (base in _TYPES or base.startswith(("typing.", "collections.", "pytest."))):
            return False
        return all(is_type(one, bound) for one in getattr(node.slice, "elts", [node.slice]))
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitOr) and is_type(node.left, bound) and is_type(node.right, bound)
    return node is None or isinstance(node, ast.Constant) or bool(dotted(node) and not isinstance(node, ast.Call))


def is_sorting(mark: ast.expr, bound: Bound) -> bool:
    """Whether a mark only sorts tests."""
    name = target(mark, bound)
    return not isinstance(mark, ast.Call) and name.startswith("pytest.mark.") and name.rpartition(".")[2] in _SORTS


def is_hook(node: Function | ast.ClassDef) -> bool:
    """Whether a definition is run unasked."""
    return node.name.startswith(HOOKS) or _is_autouse(node)


def is_each(node: Function | ast.ClassDef) -> bool:
    """Whether it is so for each test."""
    return is_each_name(node.name) or _is_autouse(node)


def is_each_name(name: str) -> bool:
    """Whether what has a name is called or read unasked for each test."""
    return name.startswith(HOOKS) and not name.startswith("__") and name not in _ONCE


def _is_autouse(node: Function | ast.ClassDef) -> bool:
    return any(
        isinstance(one, ast.keyword) and one.arg == "autouse" for mark in node.decorator_list for one in ast.walk(mark)
    )


def is_anew(node: Function, classes: Sequence[ast.ClassDef], bound: Bound) -> bool:
    """Whether something is made or put back for each time that a test is run, beside its fixtures: by its class, by a
    mark, in its object, or at its end."""
    members = [part for one in classes for part in one.body if isinstance(part, FUNCTIONS)]
    marks = [mark for one in (node, *classes) for mark in one.decorator_list]
    return (
        any(map(is_each, members))
        or any(target(base, bound) not in _BASES for one in classes for base in one.bases)
        or any(target(mark, bound) == "pytest.mark.usefixtures" for mark in marks)
        or any(
            isinstance(one, ast.Attribute)
            and (not isinstance(one.ctx, ast.Load) or one.attr in ("addCleanup", "enterContext"))
            for one in ast.walk(node)
        )
    )


def arguments(node: Function) -> list[ast.arg]:
    """All that a function is given, in the order in which it says so."""
    args = node.args
    rest = [one for one in (args.vararg, args.kwarg) if one]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *rest]


def is_plain(node: ast.stmt, bound: Bound) -> bool:
    """Whether a statement of a file that was not there before gives names and does nothing else, then or later."""
    if isinstance(node, FUNCTIONS):
        return not node.name.startswith(HOOKS) and _is_plain_function(node, bound, _FIXTURES)
    if isinstance(node, ast.ClassDef):
        return _is_plain_class(node, bound)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        names = node.targets if isinstance(node, ast.Assign) else [node.target]
        is_read = node.value is None or is_literal(node.value, bound)
        is_typed = isinstance(node, ast.Assign) or is_type(node.annotation, bound)
        return is_read and is_typed and all(isinstance(one, ast.Name) and not one.id.startswith(HOOKS) for one in names)
    return False


def _is_plain_function(node: Function, bound: Bound, marks: tuple[str, ...], of_class: bool = False) -> bool:
    defaults = [one for one in (*node.args.defaults, *node.args.kw_defaults) if one is not None]
    types = [node.returns, *(one.annotation for one in arguments(node))]
    return (
        all(not isinstance(one, ast.Call) and target(one, bound) in marks for one in node.decorator_list)
        and not getattr(node, "type_params", None)
        and all(is_literal(one, bound) and not is_frail(one) for one in defaults)
        and all(is_type(one, bound) for one in types)
        and is_calm(node, of_class)
    )


def is_plain_test(node: Function, bound: Bound) -> bool:
    """The same of a test; what its rows hold is read as it says."""
    bare = [one for one in node.decorator_list if not _is_mark(one, bound)]
    without = type(node)(**{**{key: getattr(node, key) for key in node._fields if hasattr(node, key)},
                            "decorator_list": bare})  # fmt: skip
    marks = [one for one in node.decorator_list if one not in bare]
    return _is_plain_function(without, bound, ()) and all(map(is_calm, marks))


def _is_mark(node: ast.expr, bound: Bound) -> bool:
    """Whether a decorator is a mark of pytest's that calls nothing else."""
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call) and one is not node]
    return target(node, bound).startswith("pytest.mark.") and all(
        target(one, bound) == "pytest.param" or target(one, bound).startswith("pytest.mark.") for one in calls
    )


def _is_plain_class(node: ast.ClassDef, bound: Bound) -> bool:
    marks = all(not isinstance(one, ast.Call) and target(one, bound) in _FIXTURES for one in node.decorator_list)
    bases = all(not isinstance(one, ast.Call) and target(one, bound) in _BASES for one in node.bases)
    return (marks and bases and not node.keywords and not node.name.startswith(HOOKS)
            and all(_is_plain_member(one, bound) for one in node.body))  # fmt: skip


def _is_plain_member(node: ast.stmt, bound: Bound) -> bool:
    if isinstance(node, FUNCTIONS):
        if node.name.startswith("test"):
            return is_plain_test(node, bound)
        return node.name not in ("__init_subclass__", "__set_name__", "__del__", "__class_getitem__") and (
            not node.name.startswith("pytest")
            and _is_plain_function(node, bound, (*_METHODS, *_FIXTURES), of_class=True)
        )
    if isinstance(node, ast.ClassDef):
        return _is_plain_class(node, bound)
    return is_idle(node) or is_plain(node, bound)


def is_calm(node: ast.AST, of_class: bool = False) -> bool:
    """Whether code that is run changes nothing but what it made itself, or its own object where it is `of_class`, as
    far as its words tell."""
    parts = list(ast.walk(node))
    made = {one.id for one in parts if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    changed = [
        one for one in parts if isinstance(one, ast.Attribute | ast.Subscript) and not isinstance(one.ctx, ast.Load)
    ]
    roots = [(one.value.id if isinstance(one.value, ast.Name) else "", isinstance(one, ast.Subscript))
             for one in changed]  # fmt: skip
    own = {"self"} - made if of_class else set()
    return not any(map(_reaches, parts)) and all(name in (made if part else own) for name, part in roots)


def _reaches(node: ast.AST) -> bool:
    if isinstance(node, ast.Global | ast.Nonlocal | ast.NamedExpr):
        return True
    words: list[str] = []
    if isinstance(node, ast.Name):
        words = [node.id]
    elif isinstance(node, ast.Attribute):
        words = [node.attr]
    elif isinstance(node, ast.ImportFrom):
        words = [*(node.module or "").split("."), *(one.name for one in node.names)]
    elif isinstance(node, ast.Import):
        words = [part for one in node.names for part in one.name.split(".")]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        words = [node.value] if node.value.startswith("__") else []
    elif isinstance(node, ast.arg):
        words = [node.arg] if node.arg in ("mocker", "request", "pytestconfig") else []
    known = ("__name__", "__file__", "__doc__", "__init__", "__future__")
    return any(word in _REACHING or word == "*" or (word[:2] == "__" and word not in known) for word in words)
