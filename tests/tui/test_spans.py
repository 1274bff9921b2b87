"""Lines of spans: measured in cells, cut with a mark, dropped whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from proctor.tui.glyphs import ascii_only
from proctor.tui.spans import Line, choose, cut, fit, fold, line, pad, plain, spread, width, wrap

TEXT = some.text(some.characters(categories=("L", "N", "P", "S", "Zs")), max_size=60)
LINES = some.lists(TEXT, min_size=1, max_size=6).map(lambda texts: line(*texts))


@given(of=LINES, room=some.integers(1, 80))
def test_nothing_is_wider_than_its_room(of: Line, room: int) -> None:
    assert width(cut(of, room)) <= room
    assert width(pad(of, room)) == room
    assert width(spread(of, line("end"), room)) <= room


def test_a_cut_says_so() -> None:
    assert plain(cut(line("a long line"), 6)) == "a lon…"
    assert plain(cut(line("short"), 6)) == "short"
    assert plain(cut(line("a long line of words"), 17)) == "a long line of…"


@given(fields=some.lists(some.tuples(some.integers(0, 9), LINES), max_size=6), room=some.integers(1, 120))
def test_fields_are_there_whole_or_not_at_all(fields: list[tuple[int, Line]], room: int) -> None:
    kept = choose(fields, room, 3)
    widths = [width(field) for (_, field), keep in zip(fields, kept, strict=True) if keep]
    assert sum(widths) + 3 * max(0, len(widths) - 1) <= room


def test_the_least_important_field_goes_first() -> None:
    fields = [(2, line("project")), (0, line("status")), (1, line("request"))]
    assert plain(fit(fields, 30)) == "project   status   request"
    assert plain(fit(fields, 20)) == "status   request"
    assert plain(fit(fields, 8)) == "status"
    assert plain(fit(fields, 4)) == "sta…"


@given(text=TEXT, room=some.integers(2, 40), rows=some.integers(1, 5))
def test_wrapped_text_loses_nothing_but_spaces_unless_it_says_so(text: str, room: int, rows: int) -> None:
    found = wrap(text, room, rows)
    assert len(found) <= rows
    assert all(width(line(row)) <= room for row in found)
    if found and not found[-1].endswith("…"):
        assert "".join("".join(found).split()) == "".join(text.split())


def test_wrapping_breaks_at_spaces_and_under_long_words() -> None:
    assert wrap("read in chunks and keep the rest", 15, 3) == ["read in chunks", "and keep the", "rest"]
    assert wrap("x" * 25, 10, 2) == ["x" * 10, "x" * 9 + "…"]
    assert wrap("see /one/two/three-four/five, too", 12, 9) == ["see /one/", "two/", "three-four/", "five, too"]
    assert wrap("failed: a/b.py::Class::test", 16, 3) == ["failed: a/b.py::", "Class::test"]
    assert wrap("FAIL (test_a.StreamTest.test_rows_too)", 20, 3) == ["FAIL (test_a.", "StreamTest.", "test_rows_too)"]
    assert wrap("test_half_a_cent_is_up", 12, 3) == ["test_half_a_", "cent_is_up"]
    assert wrap("/absolutely/x", 10, 3) == ["/absolutel", "y/x"]


@given(text=TEXT, room=some.integers(4, 40), times=some.integers(1, 9))
def test_a_folded_text_is_all_there(text: str, room: int, times: int) -> None:
    rows = fold(text * times, room)
    assert "".join("".join(rows).split()) == "".join((text * times).split())
    assert all(width(line(row)) <= room for row in rows)


def test_in_ascii_a_cut_is_two_dots_and_an_estimate_is_not() -> None:
    said = [plain(ascii_only(line(text))) for text in ("tests/test_mu…", "N note …", "… and", "7 % ~", "…")]
    assert said == ["tests/test_m..", "N note..", "..and", "7 % ~", "."]


@given(of=LINES)
def test_ascii_keeps_every_width(of: Line) -> None:
    assert plain(ascii_only(of)).isascii()
    assert width(ascii_only(of)) == width(of)
