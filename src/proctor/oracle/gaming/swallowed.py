"""Tests whose assertions are still there and cannot fail them any more: they stand under a new condition, a catcher, or
in a function that nobody calls. Python's are told by `pyswallowed.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from proctor.oracle.gaming.change import Change, Found, Language, found
from proctor.oracle.gaming.guards import CONDITION, Check, Guard, checks_of
from proctor.oracle.gaming.regions import Region, tests_of
from proctor.words import Gaming, Weight

_LANGUAGES = (Language.SCRIPT, Language.GO, Language.RUST)


def look(change: Change) -> Iterator[Found]:
    """What stands around the assertions of tests and did not."""
    if change.language not in _LANGUAGES or change.before is None or change.after is None:
        return
    was, now = (tests_of(change, text) for text in (change.before, change.after))
    said = {(one.name, one.texts) for one in was}
    tests = [one for one in now if one.name and (one.name, one.texts) not in said]
    if not tests:
        return
    before, after = _words(was), _words(now)
    old = {one.name: _checks(one, before) for one in was if one.name}
    gone = [checks for name, checks in old.items() if name not in {one.name for one in now}]
    for test in tests:
        has = _checks(test, after)
        keys = {one.key for one in has}
        had = old.get(test.name) or next((one for one in gone if keys & {check.key for check in one}), [])
        if guard := swallowing(had, has):
            weight = Weight.TAMPERING if guard.certain else Weight.SUSPICION
            yield found(change, Gaming.ASSERTION, weight, guard.line, f"{test.name}: {guard.why}")


def swallowing(had: list[Check], has: list[Check]) -> Guard | None:
    """What stands now around an assertion that stood free; or around all of them, where some stood free. The most
    certain of them counts."""
    free, still = ({one.key for one in checks if not one.guards} for checks in (had, has))
    held = [one for one in has if one.guards and one.key in free - still]
    if free and not still:
        held += [one for one in has if one.guards]
    around = [guard for one in held for guard in one.guards]
    around += [Guard(CONDITION, one.line, False) for one in has if one.parts & (free - still)]
    return min(around, key=lambda guard: not guard.certain, default=None)


def _words(regions: tuple[Region, ...]) -> Counter[str]:
    return Counter(token.text for one in regions for token in one.tokens if token.is_word)


def _checks(test: Region, words: Counter[str]) -> list[Check]:
    return checks_of(test.tokens, test.language, words)
