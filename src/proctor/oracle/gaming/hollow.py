"""New tests that hold nothing: no assertion, and no call of anything, so that they pass whatever the work is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from proctor.oracle.gaming.change import Change, Found, Language, found
from proctor.oracle.gaming.syntax import Function, functions, parsed
from proctor.words import Gaming, Weight

_SET_UP = re.compile(r"\b(?:set_?up\w*|setup_\w+|autouse|before(?:Each|All))\b", re.IGNORECASE)
"""What may do a test's work for it."""
_NOTHING = r"\{\s*(?:(?://[^\n]*|/\*[^*]*\*/)\s*)*\}"
_EMPTY = {
    Language.SCRIPT: re.compile(
        r"^\s*(?:it|test)\(\s*(['\"`])(?P<name>[^'\"`\n]{1,300})\1\s*,\s*(?:async\s+)?(?:\(\)\s*=>|function\s*\(\))\s*"
        + _NOTHING,
        re.MULTILINE,
    ),
    Language.GO: re.compile(r"^func (?P<name>Test\w+)\(\w+ \*testing\.T\) " + _NOTHING, re.MULTILINE),
    Language.RUST: re.compile(r"#\[(?:\w+::)?test\]\s+(?:async\s+)?fn (?P<name>\w+)\(\) " + _NOTHING),
}


def look(change: Change) -> Iterator[Found]:
    """The tests of a change that are new and hold nothing."""
    text = change.after or ""
    if not (change.is_collected or change.language is Language.RUST) or _SET_UP.search(text):
        return
    if change.language is Language.PYTHON:
        old, new = parsed(change.before), parsed(change.after)
        had = {name for name, _ in functions(old)} if old else set()
        hollow = [(name, node.lineno) for name, node in functions(new) if _holds_nothing(name, node)] if new else []
    else:
        empty = _EMPTY.get(change.language)
        matches = empty.finditer(text) if empty else iter(())
        hollow = [(one["name"], text.count("\n", 0, one.start("name")) + 1) for one in matches]
        had = {name for name, _ in hollow if name in (change.before or "")}
    for name, line in hollow:
        if name not in had:
            why = f"{name} asserts nothing and calls nothing: it passes whatever the work is"
            yield found(change, Gaming.ASSERTION, Weight.SUSPICION, line, why)


def _holds_nothing(name: str, node: Function) -> bool:
    """Whether a test says nothing. What it is given, or marked with, may do the work."""
    given = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    is_test = name.rpartition(".")[2].startswith("test")
    return is_test and not node.decorator_list and given in ([], ["self"]) and all(map(_says_nothing, node.body))


def _says_nothing(part: ast.stmt) -> bool:
    match part:
        case ast.Pass() | ast.Expr(ast.Constant()) | ast.Return(None | ast.Constant()) | ast.Assign(_, ast.Constant()):
            return True
        case ast.Expr(ast.Call(ast.Name("print"), args)):
            return all(isinstance(one, ast.Constant) for one in args)
    return False
