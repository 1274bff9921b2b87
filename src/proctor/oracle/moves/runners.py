"""What JavaScript's test runners give to files by name, and what can be asked of that without changing it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from proctor.oracle.gaming.tokens import Token

HEADS = frozenset({"describe", "suite", "context"})
_TESTS = frozenset({"it", "test", "specify"})
NAMES = frozenset({*HEADS, *_TESTS, "expect", "assert", "chai"})
"""Names that runners give to every file."""
MODULES = frozenset({
    "vitest", "@jest/globals", "bun:test", "node:test", "test", "mocha", "chai", "ava", "tape", "uvu", "uvu/assert",
    "@playwright/test", "assert", "assert/strict", "node:assert", "node:assert/strict",
})  # fmt: skip
"""Those that such names are imported from."""
_CALLED = frozenset({"expect", "assert", "expectTypeOf", "assertType", "onTestFinished"})
_PARTS = {
    "expect": frozenset({
        "any", "anything", "arrayContaining", "arrayOf", "assertions", "closeTo", "fail", "hasAssertions", "not",
        "objectContaining", "poll", "soft", "stringContaining", "stringMatching", "unreachable",
    }),
    "chai": frozenset({"expect", "assert"}),
    **dict.fromkeys(_TESTS, frozenset({"step", "info"})),
}  # fmt: skip
"""What may be asked of them within a test."""


def is_asked_only(tokens: Sequence[Token], bound: Mapping[str, str], own: Collection[str]) -> bool:
    """Whether code, a test or not, changes nothing of the runner: `bound` are the names that imports give, `own` those
    that it gives itself."""
    for at, token in enumerate(tokens):
        before, after, part = (tokens[n].text if 0 <= n < len(tokens) else "" for n in (at - 1, at + 1, at + 2))
        is_key = before in ("{", ",") and after == ":"
        if token.value or before == "." or is_key or token.text in own:
            continue
        module, _, leaf = bound.get(token.text, "").partition("#")
        is_theirs = module in MODULES
        name = (leaf if leaf != "default" else "") or module if is_theirs else token.text
        if not is_theirs and (name not in NAMES or token.text in bound):
            if name in ("before", "after") and after == "(":
                return False
        elif name in HEADS or name in _TESTS:
            if at and (after == "(" or (after == "." and name in _TESTS and part not in _PARTS[name])):
                return False
        elif not (
            (after == "(" and (name in _CALLED or "assert" in module))
            or (after == "." and (part in _PARTS.get(name, ()) or "assert" in (name, module.rpartition(":")[2][:6])))
        ):
            return False
    return True
