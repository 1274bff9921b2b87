"""All findings of a change: every rule that fits a file's language, in the order of its lines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proctor.oracle.gaming import (
    answers,
    endings,
    expected,
    helpers,
    hidden,
    hollow,
    hooks,
    leads,
    lines,
    literals,
    pycode,
    pysniff,
    pytests,
    replaced,
    runs,
    shells,
    sought,
    swallowed,
)
from proctor.oracle.gaming.change import Change, Found, Language, is_test, parts, spread
from proctor.oracle.gaming.change import found as found_in
from proctor.oracle.gaming.moved import Moved
from proctor.oracle.gaming.syntax import Shape, on_lines, parsed, shape
from proctor.words import Gaming, Weight

MOST = 200
"""Findings of one change that are kept."""


@dataclass(frozen=True)
class _Beside:
    """What one changed file is held against: the tests of all of them, what moved between them, what Python said where
    lines are gone, what tests want, and what was there or told."""

    suite: pytests.Suite
    moved: Moved
    gone: frozenset[Shape]
    wanted: answers.Answers
    known: str


def look(
    changes: Sequence[Change],
    tests: Mapping[str, str] | None = None,
    told: Iterable[str] = (),
    failed: Collection[str] = (),
    examples: bool = False,
    *,
    compared: Mapping[str, str] | None = None,
    joined: Collection[str] = (),
) -> list[Found]:
    """What a change does to checks instead of to the work; the weightier findings first.

    `tests` are the frozen tests by path: their literals must not turn up as answers in the sources. `told` is what the
    worker was told (task, spec, plan), which it may well write down. `failed` are the tests that failed before the
    work, by the ids of their runners. `examples`: some check runs those in the sources. `compared` are
    the texts that checks compare with, by their paths, `joined` the paths of what their shells read.
    """
    words = "\n".join(told)
    sources = {one.path: parts(one.before or "", one.language) for one in changes if not one.is_test}
    asking = {path: text for path, text in (tests or {}).items() if is_test(path)}
    wanted = answers.learned(asking | {path: inside for path, (_, inside) in sources.items() if inside})
    known = "\n".join([words, *(source for source, _ in sources.values())])
    beside = _Beside(pytests.suite(list(changes)), Moved(changes), _gone(changes), wanted, known)
    found = [finding for change in changes for finding in _of(change, beside)]
    found += replaced.look(changes, tests or {})
    found += helpers.look(changes, tests or {})
    found += expected.look(changes, failed, words, examples)
    found += hooks.look(changes, tests or {})
    found += leads.look(changes, tests or {})
    found += [one for change in changes if change.path in joined for one in shells.look(change)]
    found += sought.look(changes, compared or {}, wanted, words)
    found = list({(f.kind, f.path, f.line, f.why): f for f in found}.values())
    found.sort(key=lambda f: (f.path, f.line))
    weights = ([f for f in found if f.weight is weight] for weight in (Weight.TAMPERING, Weight.SUSPICION))
    return [each[at] for each in weights for at in spread([f.kind for f in each])][:MOST]


def _gone(changes: Iterable[Change]) -> frozenset[Shape]:
    """What Python said where lines are gone: found elsewhere, it has moved and is not new."""
    gone: set[Shape] = set()
    for change in changes:
        old = parsed(change.before) if change.language is Language.PYTHON and change.removed else None
        gone |= {shape(node) for node in on_lines(old, change.removed)} if old else set()
    return frozenset(gone)


def _of(change: Change, beside: _Beside) -> Iterator[Found]:
    if change.language is Language.PYTHON:
        old, new = parsed(change.before), parsed(change.after)
        if change.is_test:
            yield from pytests.look(change, old, new, beside.suite)
        else:
            yield from _skipping(change)
        if new is not None:
            yield from pycode.look(change, new, beside.gone)
            yield from pysniff.look(change, new, beside.gone)
    else:
        yield from lines.look(change, beside.moved)
        yield from swallowed.look(change)
        yield from endings.look(change)
        yield from runs.look(change)
    yield from runs.stand_in(change)
    yield from hidden.look(change, beside.gone)
    yield from hollow.look(change)
    yield from literals.look(change, beside.wanted, beside.known)


def _skipping(change: Change) -> Iterator[Found]:
    """A source that leaves the test that runs it."""
    for number, line in change.added:
        text = line.strip()
        if text.startswith(
            ("pytest.skip(", "pytest.xfail(", "raise unittest.SkipTest", "raise SkipTest", "raise pytest.skip")
        ):
            why = "the source skips or ends the test that runs it"
            yield found_in(change, Gaming.SKIP, Weight.TAMPERING, number, why)
