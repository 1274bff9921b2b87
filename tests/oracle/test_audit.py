"""The policy of the audit: what can be taken out of a change, and what the runs without it prove."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from proctor.journal.events import Unverified
from proctor.oracle import audit
from proctor.oracle.audit import Hunk, KeyOf, Outcome, Part
from proctor.words import Verdict

PASSED, FAILED, TIMEOUT, INFRA = Verdict.PASSED, Verdict.FAILED, Verdict.TIMEOUT, Verdict.INFRA
KEY = KeyOf(("before", "after"))


def diff(folder: Path, before: bytes, after: bytes) -> bytes:
    """What git says of two files."""
    for name, content in (("before", before), ("after", after)):
        (folder / name).write_bytes(content)
    command = ["git", "diff", "--no-index", "--no-color", "before", "after"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout


LINE = some.sampled_from([b"a", b"b", b"", b"@@ -1 +1 @@", b"--- a", b"+x", b"\\ No newline", b"\xff", b"c\r"])


@settings(max_examples=25)
@given(
    before=some.lists(LINE, max_size=12), after=some.lists(LINE, max_size=12), ends=some.tuples(*[some.booleans()] * 2)
)
def test_all_hunks_taken_back_give_the_file_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, before: list[bytes], after: list[bytes], ends: tuple[bool, bool]
) -> None:
    old, new = (b"\n".join(lines) + b"\n" * end for lines, end in zip((before, after), ends, strict=True))
    found = audit.hunks(diff(tmp_path_factory.getbasetemp(), old, new))
    for hunk in reversed(found):
        new = audit.without(new, hunk)
    assert new == old
    assert all(one.line + one.count < two.line for one, two in pairwise(found))


OLD = b"def a():\n    return 1\n\n\ndef b():\n    return 2\n"
NEW = b'"""What they are."""\n\n\ndef a():\n    # ten\n    return 10\n\n\ndef b():\n    return 2\n'
NEW += b'\n\ndef c():\n    return 3\n\n\ndef d():\n    """Four."""\n    return 4\n'


def test_a_change_comes_apart_into_hunks_and_long_additions_into_blocks(tmp_path: Path) -> None:
    parts = audit.parts_of("calc.py", NEW, diff(tmp_path, OLD, NEW))
    assert [(part.lines, part.hunk is not None) for part in parts] == [
        ((5, 6), True),
        ((13, 19), True),
        ((1, 19), False),
    ]
    assert [block.lines for block in parts[1].blocks] == [(13, 14), (17, 19)]


def test_comments_docstrings_and_blank_lines_are_no_part_that_a_check_could_see(tmp_path: Path) -> None:
    told = OLD.replace(b"():\n", b'():\n    """It says so."""\n\n', 1)
    assert audit.parts_of("calc.py", told, diff(tmp_path, OLD, told)) == []
    assert audit.parts_of("notes.txt", told, diff(tmp_path, OLD, told)), "of a text nobody knows what it means"
    spaced = b"a\n\nb\n"
    assert audit.parts_of("golden.txt", spaced, diff(tmp_path, b"a\nb\n", spaced))
    quoted = b'text = """\n# one\n"""\n'
    assert audit.parts_of("a.py", quoted, diff(tmp_path, b'text = """\n"""\n', quoted))
    script = b"let a = 1\n// one\n"
    assert audit.parts_of("a.ts", script, diff(tmp_path, b"let a = 1\n", script)) == []
    broken = b"def (:\n" * 2
    assert audit.parts_of("a.py", broken, diff(tmp_path, b"def (:\n", broken))


def test_a_new_file_is_one_part_with_blocks_and_an_empty_or_binary_one_is_a_part_as_a_whole(tmp_path: Path) -> None:
    (part,) = audit.parts_of("calc.py", NEW, diff(tmp_path, b"", NEW), added=True)
    assert (part.hunk, part.lines) == (None, (1, 19))
    assert [block.lines[0] for block in part.blocks] == [4, 9, 13, 17]
    assert audit.parts_of("empty", b"", b"", added=True) == [Part("empty")]
    assert audit.parts_of("tool", b"x\n", b"", more=True) == [Part("tool")]


@pytest.mark.parametrize(
    ("verdicts", "unchanged", "outcome"),
    [
        ([], None, None),
        ([PASSED], None, Outcome.MISSED),
        ([FAILED], None, None),
        ([FAILED, FAILED], None, Outcome.CAUGHT),
        ([FAILED, TIMEOUT], None, Outcome.CAUGHT),
        ([FAILED, PASSED], None, Outcome.FLAKY),
        ([TIMEOUT, PASSED], None, Outcome.FLAKY),
        ([TIMEOUT, TIMEOUT], None, None),
        ([TIMEOUT, INFRA], PASSED, Outcome.CAUGHT),
        ([TIMEOUT, TIMEOUT], TIMEOUT, Outcome.UNCLEAR),
    ],
)
def test_a_part_is_caught_only_where_the_check_fails_without_it_twice(
    verdicts: list[Verdict], unchanged: Verdict | None, outcome: Outcome | None
) -> None:
    assert audit.without_part(verdicts, unchanged) is outcome


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        ([PASSED, PASSED], Outcome.CAUGHT),
        ([FAILED, FAILED], Outcome.MISSED),
        ([PASSED, FAILED], Outcome.FLAKY),
        ([PASSED, TIMEOUT], Outcome.UNCLEAR),
        ([PASSED, INFRA, FAILED], Outcome.FLAKY),
        ([INFRA], Outcome.UNCLEAR),
        ([], Outcome.UNCLEAR),
    ],
)
def test_a_check_is_sound_where_it_passes_on_the_unchanged_tree_each_time(
    verdicts: list[Verdict], outcome: Outcome
) -> None:
    assert audit.unchanged_tree(verdicts) is outcome


A, B, FILE = Part("f", Hunk(1, 2), (1, 2)), Part("f", Hunk(5, 1), (5, 5)), Part("f", None, (1, 5))


def test_a_share_counts_what_is_measured_and_a_flaky_answer_as_not_caught() -> None:
    told = {KEY(FILE): Outcome.CAUGHT, KEY(A): Outcome.FLAKY}
    found = audit.tally([A, B, FILE], told, KEY)
    assert (found.caught, found.measured, found.parts) == (1, 2, 3)
    assert found.unverified == (Unverified(file="f", lines=(1, 2), why="the check is flaky"),)
    assert audit.tally([A], {KEY(A): Outcome.UNCLEAR}, KEY).measured == 0


def test_nothing_counts_as_caught_by_a_check_that_is_flaky_on_the_unchanged_tree() -> None:
    found = audit.tally([A, B, FILE], dict.fromkeys(map(KEY, (A, B, FILE)), Outcome.CAUGHT), KEY, steady=False)
    assert (found.caught, found.measured) == (0, 3)
    assert {one.why for one in found.unverified} == {"the check is flaky"}


def test_blocks_are_tried_where_all_of_them_together_are_noticed_and_neighbours_are_named_as_one() -> None:
    blocks = tuple(Part("f", Hunk(line, 2), (line, line + 1)) for line in (1, 3, 5))
    whole = Part("f", None, (1, 6), blocks=blocks)
    told = {KEY(whole): Outcome.CAUGHT, KEY(blocks[0]): Outcome.CAUGHT}
    assert audit.tally([whole], told, KEY).parts == 4
    told |= {KEY(blocks[1]): Outcome.MISSED, KEY(blocks[2]): Outcome.MISSED}
    found = audit.tally([whole], told, KEY)
    assert (found.caught, found.measured) == (2, 4)
    assert found.unverified == (Unverified(file="f", lines=(3, 6)),)
    assert audit.tally([whole], {KEY(whole): Outcome.MISSED}, KEY).parts == 1


def test_a_file_is_named_as_a_whole_only_where_none_of_its_hunks_is() -> None:
    missed = dict.fromkeys(map(KEY, (A, FILE)), Outcome.MISSED)
    assert [one.lines for one in audit.tally([A, B, FILE], missed, KEY).unverified] == [(1, 2)]
    told = {KEY(FILE): Outcome.MISSED, KEY(A): Outcome.CAUGHT, KEY(B): Outcome.CAUGHT}
    assert [one.lines for one in audit.tally([A, B, FILE], told, KEY).unverified] == [(1, 5)]
