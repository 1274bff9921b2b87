"""Answers of the tests that stand in the source: literals, branches and tables that were nowhere before.

A literal alone proves little: constants and messages are what tests and sources rightly share. What is named is a
value nobody would come to but by reading the tests, or an input of a test that is given its expected answer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from proctor.oracle.gaming import pylookups
from proctor.oracle.gaming.answers import (
    TRIVIAL,
    Answer,
    Answers,
    everybody_knows,
    is_uncommon,
    is_value,
    plain,
)
from proctor.oracle.gaming.change import Change, Found, Language, found, parts, tests_in
from proctor.oracle.gaming.lookups import Entry, Listed, Lookup, Reader, Span, beside
from proctor.oracle.gaming.syntax import parsed, walk
from proctor.oracle.gaming.tokens import Token, Value
from proctor.words import Gaming, Weight

_GIVES = re.compile(r"\breturn\b|=>|\?|^\s*['\"`\w]+['\"`]?\s*:|->|\bcase\b")
_ASKS = re.compile(r"[=!]==?|\bcase\b|=>|\.equals?\(|^\s*['\"`\[]?[^:]*['\"`\]]\s*:")
_SPEAKS = re.compile(r"\s*(?://|\*|/\*)|.*\b(?:import|require|throw|Error|panic|console|log|print)\w*\b")
_BESIDE = re.compile(
    r"""("[^"\n]*"|'[^'\n]*'|-?\b\w[\w.]*)(?=[\s)\]}]{0,20}[:,][\s(\[{&]{0,20}("[^"\n]*"|'[^'\n]*'|-?\b\w[\w.]*))"""
)
"""A literal, or a name, and the one after it."""
_SHARE = 0.75
"""Part of a table that must be of the tests; a table that happens to be tested has more than them."""
_SOME = 0.5
"""The same of branches."""
_ENOUGH = 2
"""Pairs of small values that must be found before they mean anything."""
_SMALL, _SHORT = 1_000, 4
"""Smaller numbers, and shorter texts, stand everywhere: only all of a pair on one line say that it was told."""
_LINES = 50
"""Lines that are looked at for that."""


@dataclass(frozen=True, slots=True)
class _Hit:
    line: int
    values: tuple[Value, ...]
    pair: bool = False
    firm: bool = False
    """Whether it does not stand alone, or its numbers are none that settings have."""
    strong: bool = False
    """Whether it says enough by itself: such a number for another one, or one of those that answer all that a test
    asks."""


def look(change: Change, wanted: Answers, told: str) -> Iterator[Found]:
    """Answers of the tests in the new text of one source. `told` is what the worker was told and what was there."""
    if change.is_test or change.after is None or not (wanted.values or wanted.pairs or wanted.groups):
        return
    known = f"{told}\n{parts(change.before or '', change.language)[0]}"
    new = change.news - tests_in(change.after, change.language)
    if change.language is Language.PYTHON:
        tree = parsed(change.after)
        single = list(_in_python(tree, wanted, new)) if tree else []
        lookups = list(pylookups.lookups(tree)) if tree else []
        sequences = pylookups.sequences(tree) if tree else iter(())
    elif change.language in (Language.SCRIPT, Language.GO, Language.RUST):
        reader = Reader(change.after, change.language)
        single = list(_in_lines(change, wanted, reader.words, new))
        lookups, sequences = list(reader.lookups()), reader.sequences()
    else:
        return
    lookups += beside(_of_tests(sequences, wanted))
    hits = [hit for one in lookups for hit in _of(one, wanted) if hit.line in new]
    yield from _told(change, [*hits, *single], known)


def _of_tests(sequences: Iterable[Listed], wanted: Answers) -> Iterator[Listed]:
    """The lists that hold hardly more than what tests give and want."""
    known = {value for ways in wanted.pairs.values() for way in ways for value in way}
    known |= {value for answer in wanted.pairs for value in answer}
    for line, values in sequences:
        if len(values) > 1 and sum(value in known for value in values) >= _SHARE * len(values):
            yield line, values


def in_table(change: Change, wanted: Answers, told: str) -> Iterator[Found]:
    """Answers of the tests in a source that is a table, and too large for anything else to be looked for."""
    text = change.after or ""
    inputs = {str(value) for ways in wanted.pairs.values() for way in ways for value in way}
    firsts = {str(answer[0]) for answer in wanted.pairs}
    beside = (match for match in _BESIDE.finditer(text) if match[1].strip("'\"`") in inputs)
    if len(list(islice((match for match in beside if match[2].strip("'\"`") in firsts), _ENOUGH))) < _ENOUGH:
        return
    reader = Reader(text, change.language)
    hits = [hit for one in reader.tables() for hit in _of(one, wanted)]
    yield from _told(change, hits, f"{told}\n{change.before or ''}")


def _told(change: Change, hits: list[_Hit], known: str) -> Iterator[Found]:
    """What is told of hits that were not there before, and that the worker was not told to write."""
    hits = [hit for hit in hits if not _was_told(hit, known)]
    told_by_pairs = {value for hit in hits if hit.pair for value in hit.values}
    hits = [hit for hit in hits if hit.pair or not told_by_pairs.issuperset(hit.values)]
    strong = [hit for hit in hits if hit.strong or any(is_uncommon(value) for value in hit.values)]
    chosen = hits if len([hit for hit in hits if hit.firm]) >= _ENOUGH else strong
    for hit in chosen[:20]:
        shown = ", ".join(repr(value)[:60] for value in hit.values)
        why = (
            f"the source answers what the tests ask by value: {shown}" if hit.pair else f"a value of the tests: {shown}"
        )
        words = tuple(str(value) for value in hit.values if is_uncommon(value))
        yield replace(found(change, Gaming.LITERAL, Weight.SUSPICION, hit.line, why), words=words)


def _was_told(hit: _Hit, known: str) -> bool:
    if any(len(value) >= _SHORT if isinstance(value, str) else abs(value) >= _SMALL for value in hit.values):
        return all(_standing(value).search(known) for value in hit.values)
    first, *others = hit.values
    for match in islice(_standing(first).finditer(known), _LINES):
        end = known.find("\n", match.end())
        line = known[known.rfind("\n", 0, match.start()) + 1 : end if end >= 0 else len(known)][:1_000]
        if all(_standing(value).search(line) for value in others):
            return True
    return False


def _standing(value: Value) -> re.Pattern[str]:
    if isinstance(value, str):
        short = len(value) < _SHORT and value.isalnum()
        return re.compile(rf"(?<!\w){re.escape(value)}(?!\w)" if short else re.escape(value))
    return re.compile(rf"(?<![\w.]){re.escape(str(value))}(?!\w|\.\d)")


# --- what is looked up ----------------------------------------------------------------------------


def _of(lookup: Lookup, wanted: Answers) -> Iterator[_Hit]:
    """The entries of a lookup that tests want; all of them where they answer all that a test asks."""
    known = (one for one in lookup.entries if not everybody_knows(one.asked, one.answer))
    entries = [replace(one, asked=tuple(map(plain, one.asked)), answer=tuple(map(plain, one.answer))) for one in known]
    hits = [one for one in entries if wanted.wants(one.asked, one.answer)]
    is_most = len(hits) >= (_SHARE if lookup.is_table else _SOME) * len(lookup.entries)
    for one in hits:
        values = (*one.asked, *one.answer)
        are_odd = all(map(_is_odd, values))
        alone = len(one.answer) == 1 and _is_odd(one.answer[0]) and any(map(_is_odd, one.asked))
        if is_most or (alone and not lookup.is_table):
            yield _Hit(one.line, values, True, is_most and (len(hits) >= _ENOUGH or are_odd), alone)
    if not entries or lookup.is_table:
        return
    for group in wanted.groups.values():
        if len({answer for _, answer in group}) < _ENOUGH:
            continue
        used = [next((one for one in entries if _fits(one, given, answer)), None) for given, answer in group]
        open_ = [answer for one, (_, answer) in zip(used, group, strict=True) if one is None]
        chosen = list(dict.fromkeys(one for one in used if one is not None))
        if not _answers_all(lookup, entries, chosen, open_):
            continue
        for one in chosen:
            yield _Hit(one.line, (*one.asked, *one.answer), True, True, True)


def _fits(one: Entry, given: frozenset[Value], answer: Answer) -> bool:
    if one.answer != answer or not one.span:
        return one.answer == answer and given.issuperset(one.asked)
    return all(map(_is_odd, answer)) and any(_is_in(value, one.span) for value in given)


def _is_in(value: Value, span: Span) -> bool:
    return not isinstance(value, str) and span[0] <= value <= span[1]


def _answers_all(lookup: Lookup, entries: list[Entry], chosen: list[Entry], open_: list[Answer]) -> bool:
    """Whether the entries that fit, and what is given for all else, are nothing but the answers to a test."""
    if not chosen or len(chosen) < _SHARE * len(entries) or any(answer != lookup.default for answer in open_):
        return False
    numbers = all(not isinstance(value, str) for one in chosen for value in (*one.asked, *one.answer))
    full = not open_ and all(len(one.asked) >= _ENOUGH for one in chosen)
    if not numbers or not (lookup.is_sheer or full):
        return False
    if len(chosen) >= _ENOUGH:
        return True
    return bool(open_) and all(map(_is_odd, (*chosen[0].asked, *chosen[0].answer, *(v for one in open_ for v in one))))


def _is_odd(value: Value) -> bool:
    """Whether a number is none that settings and sizes have."""
    if isinstance(value, str) or value in TRIVIAL:
        return False
    return (isinstance(value, float) and not value.is_integer()) or (
        abs(int(value)) > 4 and int(value) % 5 != 0 and int(value) & (int(value) - 1) != 0
    )


# --- python ---------------------------------------------------------------------------------------


def _in_python(tree: ast.Module, wanted: Answers, new: Collection[int]) -> Iterator[_Hit]:
    """Values of the tests that are asked for, or returned, by themselves."""
    for node in walk(tree):
        if getattr(node, "lineno", 0) not in new:
            continue
        if isinstance(node, ast.If | ast.IfExp):
            asked = [value for way in pylookups.ways(node.test) for value in way]
            yield from (_Hit(node.lineno, (v,)) for v in asked if v in wanted.values and is_uncommon(v))
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Constant):
            value = node.value.value
            if is_value(value) and value in wanted.values and _is_data(value):
                yield _Hit(node.lineno, (value,))


def _is_data(value: Value) -> bool:
    """Whether a value is no message: a number, or text of figures."""
    return not isinstance(value, str) or sum(c.isdigit() for c in value) >= 4


# --- other languages, by line ---------------------------------------------------------------------


def _in_lines(change: Change, wanted: Answers, words: Iterable[Token], new: Collection[int]) -> Iterator[_Hit]:
    """Values of the tests that are asked for, or given, by themselves."""
    for word in words:
        value = word.literal
        if value is None or word.line not in new or value not in wanted.values:
            continue
        line = change.new[word.line - 1][:1_000]
        asks, gives = _ASKS.search(line), _GIVES.search(line)
        if is_uncommon(value) and not _SPEAKS.match(line) and (asks or (gives and _is_data(value))):
            yield _Hit(word.line, (value,))
