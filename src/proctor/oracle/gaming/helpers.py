"""What asserts below the tests: a helper that they call, and that asserts no more."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache

from proctor.oracle.gaming import pyasserts
from proctor.oracle.gaming.bodies import helpers, leaves_early, titled
from proctor.oracle.gaming.change import Change, Found, Language, found
from proctor.oracle.gaming.imports import usual
from proctor.oracle.gaming.patterns import CHECKS, HEAD
from proctor.oracle.gaming.syntax import Function, called, functions, parsed, shape, walk
from proctor.words import Gaming, Weight

_INSIDE = re.compile(r"^\s*#\[cfg\(test\)\]|^func\s[^\n]{0,200}\btesting\.(?:T|B|TB)\b", re.MULTILINE)
"""What stands for tests among sources."""
_THROWS = re.compile(r"\bif\s*\([^;{}]{0,200}[!=]==?[^;{}]{0,200}\)\s*\{?\s*throw\b")
_NO_MORE = "asserted for the tests that call it, and does so no more"


def look(changes: Sequence[Change], tests: Mapping[str, str]) -> Iterator[Found]:
    """Helpers of tests that asserted something of what they are given, and do so no more, unless the tests of the same
    change assert for themselves now. `tests` are by path: what they call for nothing but its failure is a helper."""
    known = [one for one in changes if one.after is not None and one.before is not None]
    python = [one for one in known if one.language is Language.PYTHON]
    used = cache(lambda: _used([text for path, text in tests.items() if path.endswith(".py")]))
    more = sum(_more(one) for one in python if one.is_test)
    trees = [tree for one in python if one.is_test and (tree := parsed(one.after))]
    checks = [check for tree in trees for check in pyasserts.real(tree)]
    asked = {called(part) for check in checks for part in walk(check) if part is not check}
    for change in python:
        yield from _python(change, used, asked, more if change.is_test else more + _more(change))
    others = [one for one in known if one.language in HEAD and (one.is_test or _INSIDE.search(one.after or ""))]
    more = sum(map(_gains, others))
    for change in others:
        yield from _lines(change, more)


def _more(change: Change) -> int:
    """How many assertions more the functions of a Python file have than they had; what is new does not count."""
    was, now = (dict(functions(tree)) if (tree := parsed(text)) else {} for text in (change.before, change.after))
    return sum(len(pyasserts.real(now[name])) - len(pyasserts.real(was[name])) for name in was.keys() & now.keys())


def _used(texts: Iterable[str]) -> frozenset[str]:
    """What tests call without a look at what it gives, on what something else gives: `same(f(12), 43)`."""
    calls = (
        node.value
        for tree in filter(None, map(parsed, texts))
        for node in walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    )
    return frozenset(
        called(one) for one in calls if len(one.args) > 1 and any(isinstance(a, ast.Call) for a in one.args)
    )


def _python(change: Change, used: Callable[[], Collection[str]], asked: Collection[str], more: int) -> Iterator[Found]:
    """Functions of a Python file. Tests assert on what those that are `asked` give; `used` are called for nothing else
    than their failure."""
    old, new = parsed(change.before), parsed(change.after)
    if old is None or new is None:
        return
    was = dict(functions(old))
    for name, node in functions(new):
        twin = was.get(name)
        if twin is None or node.name.startswith("test") or shape(twin) == shape(node):
            continue
        had, has = _weighed(twin), _weighed(node)
        if not had or not (change.is_test or node.name in used()):
            continue
        if change.is_test:
            yield from pyasserts.early(change, node, {shape(part) for part in walk(twin)}, name)
        is_mild = not change.is_test or pyasserts.calls(node) - pyasserts.calls(twin)
        if more < 0 and not pyasserts.real(node) and node.name not in asked:
            weight = Weight.SUSPICION if is_mild else Weight.TAMPERING
            yield found(change, Gaming.ASSERTION, weight, node.lineno, f"{name} {_NO_MORE}")
        elif more <= 0 and not is_mild and pyasserts.real(node) and had - has & _given(node):
            said = ", ".join(sorted(had - has))
            why = f"{name} asserts nothing of {said} any more"
            yield found(change, Gaming.ASSERTION, Weight.SUSPICION, node.lineno, why)


def _given(node: Function) -> set[str]:
    """What a function is given, and those in it."""
    some = (part for part in walk(node) if isinstance(part, ast.arguments))
    return {one.arg for part in some for one in (*part.posonlyargs, *part.args, *part.kwonlyargs)} - {"self", "cls"}


def _weighed(node: Function) -> set[str]:
    """What a function asserts something of, of what it is given; also where a condition leads to the failure."""
    failing = [part for part in walk(node) if isinstance(part, ast.If) and pyasserts.real(part)]
    names = (part.id for one in (*pyasserts.real(node), *failing) for part in walk(one) if isinstance(part, ast.Name))
    return _given(node).intersection(names)


def _lines(change: Change, more: int) -> Iterator[Found]:
    old, new = helpers(change, change.before), helpers(change, change.after)
    checks = CHECKS[change.language]
    for name in old.keys() & new.keys():
        (_, had), (line, has) = old[name], new[name]
        if checks.search(had) and not leaves_early(had, checks) and leaves_early(has, checks):
            yield found(change, Gaming.ASSERTION, Weight.TAMPERING, line, f"{name} leaves before what it asserts")
        elif more < 0 and _fails(had, change) and not _fails(has, change):
            calls = {*re.findall(r"(\w+)!?\s*\(", has)} - {*re.findall(r"(\w+)!?\s*\(", had)}
            weight = Weight.SUSPICION if calls else Weight.TAMPERING
            yield found(change, Gaming.ASSERTION, weight, line, f"{name} {_NO_MORE}")


def _gains(change: Change) -> int:
    """The same of a file in another language."""
    was, now = (
        titled(change, usual(text or "", change.language).splitlines()) | helpers(change, text)
        for text in (change.before, change.after)
    )
    return sum(_fails(now[name][1], change) - _fails(was[name][1], change) for name in was.keys() & now.keys())


def _fails(body: str, change: Change) -> int:
    """How often a function may fail on purpose."""
    throws = _THROWS.findall(body) if change.language is Language.SCRIPT else ()
    return len(CHECKS[change.language].findall(body)) + len(throws)
