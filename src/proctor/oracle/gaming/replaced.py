"""Modules below the tests that put something of their own in the place of what is tested, as soon as they are read."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence

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
_LIBRARIES = frozenset({
    "pytest", "mock", "django", "flask", "requests", "httpx", "numpy", "pandas", "matplotlib", "torch", "tensorflow",
    "hypothesis", "faker", "responses", "boto3", "redis", "sqlalchemy", "celery", "freezegun", "aiohttp", "werkzeug",
})  # fmt: skip
"""What tests stub for good reasons: the world, and not their subject."""


def look(changes: Sequence[Change], tests: Mapping[str, str]) -> Iterator[Found]:
    """What files for tests replace, when they are imported or for each test, by a function or an object of their own;
    `tests` are by path. What assertions call is known to be tested."""
    hits = [(change, *hit) for change in changes for hit in _of(change)]
    if not hits:
        return
    texts = [one.before for one in changes if one.is_test and one.language is Language.PYTHON]
    trees = map(parsed, (*texts, *(text for path, text in tests.items() if path.endswith(".py"))))
    asked = {name for tree in trees if tree for name in named(asked_of(tree), imported(tree))}
    asked |= {name.rpartition(".")[0] for name in asked} - {""}
    for change, line, name, always in hits:
        full, *_ = (*named([name], imported(parsed(change.after))), "")
        root = full.partition(".")[0]
        outside = not full or root in sys.stdlib_module_names or root in _LIBRARIES
        is_subject = bool({name, full} & asked)
        if is_subject or (always and not outside):
            weight = Weight.TAMPERING if is_subject else Weight.SUSPICION
            why = f"{name} is replaced for all tests that run with this file"
            yield found(change, Gaming.ASSERTION, weight, line, why)


def _of(change: Change) -> Iterator[tuple[int, str, bool]]:
    """The new lines of a file for tests that replace something, what that is, and whether at import."""
    new = parsed(change.after) if change.is_test and change.language is Language.PYTHON and change.added else None
    if new is None:
        return
    homes = {one.name for one in walk(new) if isinstance(one, (*FUNCTIONS, ast.ClassDef))}
    old = parsed(change.before)
    known = {shape(one) for one in walk(old) if isinstance(one, ast.stmt)} if old else set()
    for statement, always in _run(new):
        if statement.lineno in change.news:
            for name, value in _replaces(statement):
                if _stands_in(name, value, homes) and shape(statement) not in known:
                    yield statement.lineno, name, always


def _run(new: ast.Module) -> Iterator[tuple[ast.stmt, bool]]:
    """The statements that run with every test, and whether they do so at import."""
    yield from ((one, True) for one in at_import(new))
    for node in new.body:
        if isinstance(node, FUNCTIONS) and _is_automatic(node):
            yield from ((one, False) for one in walk(node) if isinstance(one, ast.stmt) and one is not node)


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
                holder = dotted(target.value)
                key = str(target.slice.value)
                if holder == "sys.modules":
                    yield key, statement.value
                elif holder.endswith(".__dict__"):
                    yield f"{holder.removesuffix('.__dict__')}.{key}", statement.value
    for part in own(statement) if isinstance(statement, ast.Expr | ast.With) else ():
        if not isinstance(part, ast.Call) or called(part) not in ("setattr", "object", "patch", "__setattr__"):
            continue
        first, *rest = [*part.args, ast.Constant(None)]
        said = rest[0].value if rest and isinstance(rest[0], ast.Constant) else None
        by_text = isinstance(first, ast.Constant)
        name = str(first.value) if isinstance(first, ast.Constant) else f"{dotted(first)}.{said!s}"
        words = {word.arg: word.value for word in part.keywords}
        given = part.args[1 if by_text else 2 :]
        yield name, given[0] if given else words.get("new") or words.get("side_effect") or words.get("return_value")


def _stands_in(name: str, value: ast.expr | None, homes: Collection[str]) -> bool:
    """Whether what is put in a place is made here."""
    if value is None or isinstance(value, ast.Lambda) or name.endswith(_BODIES):
        return True
    if isinstance(value, ast.Call):
        return called(value) in (*STAND_INS, *homes) or any(_stands_in(name, one, homes) for one in value.args)
    return dotted(value) in homes
