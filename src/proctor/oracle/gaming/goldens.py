"""Expected values outside of assertions: snapshots, golden files, data of tests, and examples in documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePosixPath

from proctor.oracle.gaming import rows
from proctor.oracle.gaming.change import Change, Found, Language, found
from proctor.oracle.gaming.regions import Region
from proctor.oracle.gaming.tokens import Token, lexed
from proctor.words import Gaming, Weight

_SUFFIXES = frozenset({".snap", ".ambr", ".golden", ".expected", ".approved", ".want"})
_DATA = frozenset({".txt", ".json", ".out", ".xml", ".html", ".csv", ".yaml", ".yml"})
_FOLDERS = frozenset({"__snapshots__", "snapshots", "golden", "goldens", "expected", "testdata"})
_ENTRY = re.compile(r"^exports\[`((?:\\.|[^`\\])+?)(?: \d+)?`\] = `((?:\\.|[^`\\])*)`;", re.MULTILINE)
_AMBER = re.compile(r"^# name: (.+)\n((?:(?!# ---).*\n)*)", re.MULTILINE)
_ASKS = re.compile(r"^(\s*)>>> (.*)$")
_MORE = re.compile(r"^\s*\.\.\. ?(.*)$")
_OWNER = re.compile(r"^\s*(?:async )?(?:def|class) (\w+)")
_METHOD = re.compile(r"([\w.]+)\.[A-Z_]\w*\.\w+")
"""An id of `unittest`: a module, a class and a method."""
_LINES = 200
_SHOWN = 60
_ENDS = re.compile(r"^\s*>>>|^\s*(?:\"\"\"|''')|.*(?:\"\"\"|''')$")
_DOC = re.compile(r"^\s*//[/!] ?(.*)$")
_ITEM = re.compile(r"\b(?:fn|struct|enum|trait|mod|macro_rules!)\s+(\w+)")


def is_golden(path: str) -> bool:
    """Whether a file holds what tests compare with, or read."""
    return _is_whole(path) or rows.is_data(path)


def _is_whole(path: str) -> bool:
    """Whether all that a file holds is what tests compare with."""
    pure = PurePosixPath(path)
    kept = not _FOLDERS.isdisjoint(pure.parts[:-1])
    return pure.suffix in _SUFFIXES or ".approved." in pure.name or (pure.suffix in _DATA and kept)


def look(changes: Sequence[Change], failed: Collection[str], is_fair: Callable[[str, str], bool]) -> Iterator[Found]:
    """Snapshots and golden files that were there and hold something else. `is_fair` says of two texts whether the one
    may stand for the other where no test of it failed."""
    for change in changes:
        if change.before is None or change.after is None:
            continue
        if not _is_whole(change.path):
            yield from _data(change, is_fair) if rows.is_kind(change.path) else ()
            continue
        was, now = _entries(change.path, change.before), _entries(change.path, change.after)
        for name in was.keys() & now.keys():
            if was[name].split() == now[name].split():
                continue
            bad = any(_is_of(name, change.path, one) for one in failed)
            if not bad and is_fair(was[name], now[name]):
                continue
            weight = Weight.TAMPERING if bad else Weight.SUSPICION
            said = "of a test that failed before the work" if bad else "that a test compares with"
            line = next((n for n, text in change.added if text.strip() in now[name]), change.first)
            why = f"{name or 'the file'}: what is expected {said} is another"
            yield replace(found(change, Gaming.ASSERTION, weight, line, why, gone=not change.added), test=name)


def _data(change: Change, is_fair: Callable[[str, str], bool]) -> Iterator[Found]:
    """Values of test data that are others. New rows are nobody's but the worker's."""
    changed = rows.changed(change)
    other = [(was, now) for was, now in changed if sorted(was.split()) == sorted(now.split()) or not is_fair(was, now)]
    if other:
        (was, now), more = other[0], f", and {len(other) - 1} more" if len(other) > 1 else ""
        line = next((n for n, text in change.added if now and now.split()[0] in text), change.first)
        why = f"data that tests read has {now[:_SHOWN] or 'nothing'} in place of {was[:_SHOWN]}{more}"
        one = found(change, Gaming.ASSERTION, Weight.SUSPICION, line, why, gone=not change.added)
        yield replace(one, test="")


def _entries(path: str, text: str) -> dict[str, str]:
    """What a file expects, by test; with no name where it is one thing."""
    if path.endswith(".ambr"):
        return {match[1]: match[2] for match in _AMBER.finditer(text)}
    if path.endswith(".snap") and (entries := {match[1]: match[2] for match in _ENTRY.finditer(text)}):
        return entries
    if path.endswith(".snap") and text.startswith("---\n"):
        return {"": text.split("---\n", 2)[-1]}
    return {"": text}


def _is_of(name: str, path: str, one: str) -> bool:
    """Whether an id is that of the test whose snapshot has this name or, without one, by which a golden file is called.

    What stands before the test itself, a file or a module, is of all its tests: it may be part of a name (`t__adds` of
    `my-sums/t::adds`), and is none alone. Of an id that is nothing but a file all of it counts.
    """
    place, mark, _ = one.partition("::")
    method = _METHOD.fullmatch(one)
    place = place if mark else method[1] if method else ""
    said, known = f" {_plain(name or PurePosixPath(path).stem)} ", f" {_plain(one)} "
    at = known.rfind(said)
    is_whole = at >= 0 and (not name or known.endswith(said))
    return is_whole and (not place or at + len(said) > len(f" {_plain(place)} "))


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.lower()).strip()


@lru_cache(maxsize=64)
def documented(text: str, language: Language) -> tuple[Region, ...]:
    """The examples in a source's documentation, as tests by the name of what they explain."""
    if language is Language.RUST and "```" in text:
        return tuple(_fenced(text))
    if language is not Language.PYTHON or ">>> " not in text:
        return ()
    by_name: dict[str, list[Token]] = {}
    lines, owner, at = text.splitlines(), "", 0
    while at < len(lines):
        match = _ASKS.match(lines[at][:1_000])
        at += 1
        if match is None:
            known = _OWNER.match(lines[at - 1][:1_000])
            owner = known[1] if known else owner
            continue
        asked, line = [match[2]], at
        while at < len(lines) and (more := _MORE.match(lines[at][:1_000])):
            asked.append(more[1])
            at += 1
        said = list[str]()
        while at < len(lines) and len(said) < _LINES and lines[at].strip() and not _ENDS.match(lines[at]):
            said.append(lines[at].strip())
            at += 1
        if said:
            call = [replace(one, line=line) for one in lexed("\n".join(asked), language)]
            answer = "\n".join(said)
            wanted = Token(f"s:{answer}", answer, line + len(asked), True)
            tokens = (Token("assert", "assert", line), *call, Token("==", "==", line))
            by_name.setdefault(owner, []).extend((*tokens, replace(wanted, line=line)))
    said_of = ((name or "doctest", tokens) for name, tokens in by_name.items())
    return tuple(Region(name, language, tokens[0].line, tuple(tokens), example=True) for name, tokens in said_of)


def _fenced(text: str) -> Iterator[Region]:
    """The examples of a Rust source, between fences in `///` and `//!`."""
    code = list[str]()
    start, waiting = 0, list[Region]()
    for number, line in enumerate(text.splitlines(), 1):
        match = _DOC.match(line[:1_000])
        if match is None:
            if known := _ITEM.search(line[:1_000]):
                yield from (replace(one, name=known[1]) for one in waiting)
                waiting = []
            start = 0
            continue
        if not match[1].startswith("```"):
            code += [match[1].removeprefix("# ")] if start else []
        elif start:
            tokens = lexed("\n" * start + "\n".join(code), Language.RUST)
            waiting.append(Region("", Language.RUST, start, tokens, example=True))
            start, code = 0, []
        else:
            start = number
    yield from (replace(one, name="the crate") for one in waiting)
