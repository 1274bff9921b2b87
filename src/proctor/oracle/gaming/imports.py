"""Tests in JavaScript under the usual names of what they import: `eq(…)` of `strictEqual as eq` is an assertion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from proctor.oracle.gaming.change import Language

_FROM = r"""['"](?:node:)?(?P<module>{})['"]"""
_MODULES = r"assert(?:/strict)?|test|vitest|@jest/globals|bun:test|chai|mocha|ava|tape|uvu(?:/assert)?"
_TESTS = ("test", "ava", "tape")
"""Modules that are a test function themselves."""
_WORD = r"[\w$]{1,60}"
_SOME = r"\{(?P<some>[^{}]{0,600})\}"
_IMPORT = re.compile(
    rf"\bimport\s++(?:\*\s*+as\s++(?P<all>{_WORD})|(?P<whole>{_WORD}))?\s*+,?\s*+(?:{_SOME})?"
    rf"\s*+from\s*+{_FROM.format(_MODULES)}"
)
_REQUIRE = re.compile(
    rf"\b(?:const|let|var)\s++(?:(?P<whole>{_WORD})|{_SOME})\s*+=\s*+"
    rf"(?:require\(\s*+{_FROM.format(_MODULES)}\s*+\)|(?P<own>assert)(?=[\s;.]))(?:\.(?P<part>{_WORD}))?"
)
_PAIR = re.compile(rf"({_WORD})(?:\s*+(?::|\bas\b)\s*+({_WORD}))?")
_CALLED = re.compile(r"(?<![\w$.])[\w$]++(?=\s*+[.(])")


@lru_cache(maxsize=64)
def usual(text: str, language: Language) -> str:
    """A test file with the usual names of assertions and tests in the place of those that its imports give them; every
    line stays where it is."""
    known = dict(_names(text)) if language is Language.SCRIPT else {}
    return _CALLED.sub(lambda match: known.get(match[0], match[0]), text) if known else text


def _names(text: str) -> Iterator[tuple[str, str]]:
    """The names that a file gives, each with the usual one."""
    for match in (*_IMPORT.finditer(text), *_REQUIRE.finditer(text)):
        said = match.groupdict()
        asserts = "assert" in (said["module"] or said.get("own") or "")
        whole = said["whole"] or said.get("all")
        if whole and (asserts or said["module"] in _TESTS):
            yield whole, _usual(said.get("part") or "default", asserts)
        for one in _PAIR.finditer(said["some"] or ""):
            yield one[2] or one[1], _usual(one[1], asserts)


def _usual(name: str, asserts: bool) -> str:
    """What is usually said for a part of a module; for the whole of it where it is the `default`."""
    if not asserts:
        return "test" if name == "default" else name
    return "assert" if name in ("default", "strict", "ok", "assert") else f"assert.{name}"
