"""How much a comparison of numbers lets pass, told from its tolerance and what is expected."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from proctor.oracle.gaming.change import Language
from proctor.oracle.gaming.syntax import called, walk

WIDE = 0.1
"""The part of what is expected from which on a tolerance says next to nothing."""
_UNKNOWN = 1_000
"""An absolute tolerance that is wide, whatever is expected."""
_ENDLESS = 10**300
_SHARES = ("rel", "rtol", "rel_tol")
_SPANS = ("abs", "delta", "atol", "abs_tol", "tolerance", "abs()")
NAMES = (*_SPANS, *_SHARES, "places")


def of(node: ast.AST) -> Iterator[tuple[str, float, bool]]:
    """The tolerances in a piece of Python: what each is called, its number, and whether it is wide. A bound of
    `abs(a - b)` is called `abs()`."""
    for part in walk(node):
        if isinstance(part, ast.Call):
            expected = _least(part.args)
            for word in part.keywords:
                value = number(word.value)
                if word.arg in NAMES and value is not None:
                    yield word.arg, value, _is_wide(word.arg, value, expected)
        elif isinstance(part, ast.Compare) and len(part.ops) == 1:
            gap, bound = part.left, number(part.comparators[0])
            if isinstance(gap, ast.Call) and called(gap) in ("abs", "fabs") and bound is not None and gap.args:
                inner = gap.args[0]
                if isinstance(part.ops[0], ast.Lt | ast.LtE) and isinstance(inner, ast.BinOp):
                    yield "abs()", bound, _is_wide("abs()", bound, _least([inner.left, inner.right]))


def number(node: ast.AST | None) -> float | None:
    """The number that a piece of Python is, `inf` among them."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = number(node.operand)
        return None if value is None else -value
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value) if abs(node.value) < _ENDLESS else float("inf")
    endless = isinstance(node, ast.Attribute) and node.attr == "inf"
    given = isinstance(node, ast.Call) and called(node) == "float" and len(node.args) == 1
    if endless or (given and isinstance(node, ast.Call) and getattr(node.args[0], "value", "") in ("inf", "Infinity")):
        return float("inf")
    return None


def _least(nodes: list[ast.expr]) -> float | None:
    """The smallest number that is compared with, 0 left out: what tells most of a tolerance."""
    values = [abs(value) for one in nodes for part in walk(one) if (value := number(part)) is not None and value]
    return min(values, default=None)


def _is_wide(name: str, value: float, expected: float | None) -> bool:
    if name in _SHARES:
        return value >= WIDE
    if name == "places":
        return expected is not None and 0.5 * 10.0 ** -min(max(value, -300), 300) >= WIDE * expected
    return value >= (_UNKNOWN if expected is None else WIDE * expected)


_N = r"(-?\d{1,18}(?:\.\d{0,18})?(?:[eE][-+]?\d{1,2})?)(?:_?f(?:32|64))?"
_SPAN = {
    Language.SCRIPT: re.compile(
        rf"""\b(?:closeTo|approximately)\(\s*{_N}\s*,\s*{_N}\s*[,)]
           | Math\.abs\([^)]{{0,80}}-\s*{_N}\s*\)\s*
             (?:\)\.(?:toBeLessThan\w*|to\.be\.below|to\.be\.lessThan)\(|<=?)\s*{_N}""",
        re.VERBOSE,
    ),
    Language.GO: re.compile(
        rf"""\bInDelta\w*\(t,\s*{_N}\s*,[^,]{{1,80}},\s*{_N}\s*[,)]
           | \bInDelta\w*\(t,[^,]{{1,80}},\s*{_N}\s*,\s*{_N}\s*[,)]
           | math\.Abs\([^)]{{0,80}}-\s*{_N}\s*\)\s*>=?\s*{_N}""",
        re.VERBOSE,
    ),
    Language.RUST: re.compile(
        rf"""-\s*{_N}\s*\)\.abs\(\)\s*<=?\s*{_N} | ,\s*{_N}\s*,\s*(?:abs_)?epsilon\s*=\s*{_N}""", re.VERBOSE
    ),
}
_SHARE = {
    Language.SCRIPT: None,
    Language.GO: re.compile(rf"\bInEpsilon\w*\(t,[^,]{{1,80}},[^,]{{1,80}},\s*{_N}\s*[,)]"),
    Language.RUST: re.compile(rf"\bmax_relative\s*=\s*{_N}"),
}
_DIGITS = re.compile(rf"\btoBeCloseTo\(\s*{_N}\s*,\s*{_N}\s*\)")


def wide_in(text: str, language: Language) -> int:
    """How many tolerances in the text of a test let much pass."""
    count = 0
    for match in _SPAN[language].finditer(text):
        expected, value = (float(group) for group in match.groups() if group is not None)
        count += value >= WIDE * abs(expected) > 0
    if share := _SHARE[language]:
        count += sum(float(match[1]) >= WIDE for match in share.finditer(text))
    if language is Language.SCRIPT:
        for match in _DIGITS.finditer(text):
            count += 0.5 * 10.0 ** -min(float(match[2]), 300) >= WIDE * abs(float(match[1])) > 0
    return count
