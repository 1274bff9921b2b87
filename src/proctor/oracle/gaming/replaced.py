"""Modules, above all below the tests, that put something of their own in the place of what is tested, as soon as they
are read."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum, auto

from proctor.oracle.gaming.change import Change, Found, Language, found
from proctor.oracle.gaming.pysubjects import STAND_INS, asked_of
from proctor.oracle.gaming.syntax import (
    FUNCTIONS,
    Function,
    at_import,
    called,
    dotted,
    imported,
    named,
    own,
    parsed,
    shape,
    walk,
)
from proctor.words import Gaming, Weight

_BODIES = ("__code__", "__call__", "__class__")
_SETTERS = ("setattr", "__setattr__")
_SETUPS = ("setup", "setUp")
"""Beginnings of the names of functions that runners call before tests, and that others may take back."""
_LIBRARIES = frozenset({
    "pytest", "mock", "django", "flask", "requests", "httpx", "numpy", "pandas", "matplotlib", "torch", "tensorflow",
    "hypothesis", "faker", "responses", "boto3", "redis", "sqlalchemy", "celery", "freezegun", "aiohttp", "werkzeug",
})  # fmt: skip
"""What tests stub for good reasons: the world, and not their subject."""

_HOOKS = re.compile(r"hook$|warning$|\.std(?:in|out|err)$|\.default$|\._create_default_https_context$")
"""What Python's library is to have replaced."""


class _When(Enum):
    """When something is replaced: at import, before each test, or before some, for what may be good reasons."""

    IMPORT = auto()
    TEST = auto()
    SETUP = auto()


def look(changes: Sequence[Change], tests: Mapping[str, str]) -> Iterator[Found]:
    """What files for tests replace, when they are imported or for each test, by a function or an object of their own;
    `tests` are by path. What assertions call is known to be tested."""
    hits = [(change, *hit) for change in changes for hit in _of(change)]
    if not hits:
        return
    texts = [one.before for one in changes if one.is_test and one.language is Language.PYTHON]
    trees = [*map(parsed, (*texts, *(text for path, text in tests.items() if path.endswith(".py"))))]
    asked = {name for tree in trees if tree for name in named(asked_of(tree), imported(tree))}
    asked |= {name.rpartition(".")[0] for name in asked} - {""}
    used = {"builtins"} | {name.partition(".")[0] for tree in trees if tree for name in imported(tree).values()}
    for change, line, name, when in hits:
        full, *_ = (*named([name], _names(parsed(change.after))), "")
        root = full.partition(".")[0]
        outside = not full or root in sys.stdlib_module_names or root in _LIBRARIES
        is_subject = bool({name, full} & asked)
        mild = when is _When.SETUP or not change.is_test
        is_used = not change.is_test and root in used and root in sys.stdlib_module_names
        is_used = is_used and not _HOOKS.search(full)
        if is_subject or (when is _When.IMPORT and (is_used or (change.is_test and not outside))):
            weight = Weight.TAMPERING if is_subject and not mild else Weight.SUSPICION
            why = f"{name} is replaced for all tests that run with this file"
            yield found(change, Gaming.ASSERTION, weight, line, why)


def _names(tree: ast.Module | None) -> dict[str, str]:
    """What names stand for that a file imports, and gives to others as they are."""
    names = imported(tree)
    for node in tree.body if tree else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in names:
            names |= {one.id: names[node.value.id] for one in node.targets if isinstance(one, ast.Name)}
    return names


def _of(change: Change) -> Iterator[tuple[int, str, _When]]:
    """The new lines of a file that replace something, what that is, and when."""
    new = parsed(change.after) if change.language is Language.PYTHON and change.added else None
    if new is None:
        return
    homes = {one.name for one in walk(new) if isinstance(one, (*FUNCTIONS, ast.ClassDef))}
    old = parsed(change.before)
    known = {shape(one) for one in walk(old) if isinstance(one, ast.stmt)} if old else set()
    for statement, when in _run(new):
        if statement.lineno in change.news:
            for name, value in _replaces(statement):
                if _stands_in(name, value, homes) and shape(statement) not in known:
                    yield statement.lineno, name, when


def _run(new: ast.Module) -> Iterator[tuple[ast.stmt, _When]]:
    """The statements that run unasked, and when."""
    early = list(at_import(new))
    yield from ((one, _When.IMPORT) for one in early)
    run = {called(part) for one in early for part in own(one) if isinstance(part, ast.Call)}
    for node in walk(new):
        if isinstance(node, FUNCTIONS):
            yield node, _When.IMPORT  # its decorators, defaults and annotations
            is_setup = node.name.startswith(_SETUPS)
            if is_setup or node.name in run or _is_automatic(node):
                when = _When.SETUP if is_setup else _When.TEST
                yield from ((one, when) for one in walk(node) if isinstance(one, ast.stmt) and one is not node)


def _is_automatic(node: Function) -> bool:
    """Whether pytest runs a function unasked."""
    marks = (word for mark in node.decorator_list if isinstance(mark, ast.Call) for word in mark.keywords)
    return node.name.startswith("pytest_") or any(word.arg == "autouse" for word in marks)


def _replaces(statement: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that a statement has stand for something else, each with that."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Attribute):
                yield dotted(target), statement.value
            elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                key = str(target.slice.value)
                if dotted(target.value) == "sys.modules":
                    yield key, statement.value
                elif holder := _held_by(target.value):
                    yield f"{holder}.{key}", statement.value
    patches = (*_SETTERS, "object", "patch") if isinstance(statement, ast.Expr | ast.With) else _SETTERS
    for part in own(statement):
        if not isinstance(part, ast.Call):
            continue
        if (
            isinstance(part.func, ast.Attribute)
            and part.func.attr == "update"
            and (holder := _held_by(part.func.value))
        ):
            yield from ((f"{holder}.{word.arg}", word.value) for word in part.keywords)
        if called(part) not in patches:
            continue
        first, *rest = [*part.args, ast.Constant(None)]
        said = rest[0].value if rest and isinstance(rest[0], ast.Constant) else None
        by_text = isinstance(first, ast.Constant)
        name = str(first.value) if isinstance(first, ast.Constant) else f"{dotted(first)}.{said!s}"
        words = {word.arg: word.value for word in part.keywords}
        given = part.args[1 if by_text else 2 :]
        yield name, given[0] if given else words.get("new") or words.get("side_effect") or words.get("return_value")


def _held_by(node: ast.expr) -> str:
    """The module or class whose names a mapping holds: `app.__dict__`, `vars(app)`."""
    if isinstance(node, ast.Call) and called(node) == "vars" and node.args:
        return dotted(node.args[0])
    name = dotted(node)
    return name.removesuffix(".__dict__") if name.endswith(".__dict__") else ""


def _stands_in(name: str, value: ast.expr | None, homes: Collection[str]) -> bool:
    """Whether what is put in a place is made here."""
    if value is None or isinstance(value, ast.Lambda) or name.endswith(_BODIES):
        return True
    if isinstance(value, ast.Call):
        return called(value) in (*STAND_INS, *homes) or any(_stands_in(name, one, homes) for one in value.args)
    return dotted(value) in homes
