"""What asserts below the tests: a helper that they call, and that asserts no more."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from proctor.oracle.gaming import pyasserts
from proctor.oracle.gaming.change import Change, Found, Language, found
from proctor.oracle.gaming.imports import usual
from proctor.oracle.gaming.patterns import CHECKS, COMMENT, HEAD
from proctor.oracle.gaming.syntax import Function, functions, parsed, walk
from proctor.words import Gaming, Weight

_WORD = r"[\w$]{1,60}"
_HEADS = {
    Language.SCRIPT: re.compile(
        rf"^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\s*\*?\s*({_WORD})\s*\("
        rf"|^\s*(?:export\s+)?(?:(?:const|let|var)\s+|(?:module\.)?exports\.)({_WORD})\s*=\s*"
        rf"(?:async\s*)?(?:function\b|\([^()]{{0,200}}\)\s*(?::[^=]{{1,60}})?=>|{_WORD}\s*=>)"
    ),
    Language.GO: re.compile(rf"^func\s+(?:\([^()]{{1,100}}\)\s*)?({_WORD})\s*[(\[]"),
    Language.RUST: re.compile(rf"^\s*(?:pub(?:\([^()]{{1,40}}\))?\s+)?(?:async\s+)?fn\s+({_WORD})\s*[(<]"),
}


def look(changes: Sequence[Change]) -> Iterator[Found]:
    """Helpers of tests that asserted something of what they are given, and do so no more, unless the tests of the same
    change assert for themselves now."""
    tests = [one for one in changes if one.is_test and one.after is not None]
    python = [one for one in tests if one.language is Language.PYTHON]
    others = [one for one in tests if one.language in _HEADS]
    if sum(_asserts(parsed(one.after)) - _asserts(parsed(one.before)) for one in python) < 0:
        for change in python:
            yield from _python(change)
    if sum(_count(one, one.after) - _count(one, one.before) for one in others) < 0:
        for change in others:
            yield from _lines(change)


def _asserts(tree: ast.Module | None) -> int:
    return len(pyasserts.real(tree)) if tree else 0


def _python(change: Change) -> Iterator[Found]:
    old, new = parsed(change.before), parsed(change.after)
    if old is None or new is None:
        return
    was = dict(functions(old))
    for name, node in functions(new):
        twin = was.get(name)
        if twin is None or node.name.startswith("test"):
            continue
        given = {one.arg for one in (*twin.args.posonlyargs, *twin.args.args, *twin.args.kwonlyargs)} - {"self", "cls"}
        if _of(twin, given) and not pyasserts.real(node):
            weight = Weight.SUSPICION if pyasserts.calls(node) - pyasserts.calls(twin) else Weight.TAMPERING
            why = f"{name} asserted for the tests that call it, and does so no more"
            yield found(change, Gaming.ASSERTION, weight, node.lineno, why)


def _of(node: Function, given: set[str]) -> bool:
    """Whether a function asserts something of what it is given."""
    names = (part.id for one in pyasserts.real(node) for part in walk(one) if isinstance(part, ast.Name))
    return not given.isdisjoint(names)


def _lines(change: Change) -> Iterator[Found]:
    old, new = _helpers(change, change.before), _helpers(change, change.after)
    checks = CHECKS[change.language]
    for name in old.keys() & new.keys():
        (_, had), (line, has) = old[name], new[name]
        if checks.search(had) and not checks.search(has):
            calls = {*re.findall(r"(\w+)!?\s*\(", has)} - {*re.findall(r"(\w+)!?\s*\(", had)}
            why = f"{name} asserted for the tests that call it, and does so no more"
            yield found(change, Gaming.ASSERTION, Weight.SUSPICION if calls else Weight.TAMPERING, line, why)


def _count(change: Change, text: str | None) -> int:
    checks = CHECKS[change.language]
    lines = usual(text or "", change.language).splitlines()
    return sum(len(checks.findall(line[:1_000])) for line in lines if not COMMENT.match(line[:1_000]))


def _helpers(change: Change, text: str | None) -> dict[str, tuple[int, str]]:
    """The functions of a test file that are no tests: where each begins, and what it says below its name."""
    known: dict[str, tuple[int, str]] = {}
    name, start, body = "", 0, list[str]()
    tested = HEAD[change.language]
    for number, whole in enumerate(usual(text or "", change.language).splitlines(), 1):
        line = whole[:1_000]
        match = _HEADS[change.language].match(line)
        test = tested.match(line) if change.language is not Language.RUST else None
        if match or test:
            if name:
                known.setdefault(name, (start, "\n".join(body)))
            name = "" if test else next(filter(None, match.groups())) if match else ""
            start, body = number, [line[match.end() :] if match else ""]
        elif not COMMENT.match(line):
            body.append(line)
    if name:
        known.setdefault(name, (start, "\n".join(body)))
    return known
