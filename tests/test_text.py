"""Hostile text comes out printable, short and fast."""

from __future__ import annotations

import subprocess
import sys
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.text import file_name, safe_block, safe_id, safe_line

NASTY = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\x1b\x9b\x9d\x90\x07\x9c[];?0123m\t\r\n\x00\u202e\u200b\u2066\ufeff\u0301\ud800"),
    )
)
TEXT_OR_BYTES = st.one_of(NASTY, st.binary(), NASTY.map(lambda text: text.encode("utf-8", "surrogatepass")))
FORBIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def assert_safe(line: str) -> None:
    assert not [hex(ord(c)) for c in line if unicodedata.category(c) in FORBIDDEN]
    line.encode("utf-8")


@given(TEXT_OR_BYTES, st.integers(-1, 40))
def test_a_safe_line_is_one_printable_line_within_its_limit(text: str | bytes, limit: int) -> None:
    line = safe_line(text, limit)
    assert_safe(line)
    assert len(line) <= max(limit, 0)


@given(TEXT_OR_BYTES, st.integers(0, 10), st.integers(0, 40))
def test_a_safe_block_is_printable_lines_within_its_limits(text: str | bytes, lines: int, limit: int) -> None:
    rows = safe_block(text, lines, limit).split("\n")
    assert len(rows) <= max(lines, 1)
    for row in rows:
        assert_safe(row)
        assert len(row) <= limit


@given(TEXT_OR_BYTES)
def test_making_safe_twice_changes_nothing(text: str | bytes) -> None:
    assert safe_line(safe_line(text)) == safe_line(text)
    assert safe_block(safe_block(text)) == safe_block(text)


@given(TEXT_OR_BYTES)
def test_a_safe_id_is_a_plain_file_name(text: str | bytes) -> None:
    word = safe_id(text)
    assert 0 < len(word) <= 64
    assert word[0] not in ".-"
    assert set(word) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"], codec="ascii"), max_size=200))
def test_plain_text_passes_unchanged(text: str) -> None:
    assert safe_line(text) == text


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[31;1mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP$q q\x1b\\after", "after"),
        ("\x9b2Jcleared", "cleared"),
        ("\x9d52;c;aGk=\x9cafter", "after"),
        ("\x1b(Bplain", "plain"),
        ("\x1b\x1b[31m[31m", "[31m"),
        ("\x1b]0;never ends", "0;never ends"),
        ("cut off \x1b[38;5", "cut off "),
        ("user\u202egnp.exe", "usergnp.exe"),
        ("ze\u200bro\ufeff", "zero"),
        ("a\tb", "a   b"),
        ("one\r\ntwo\nthree\rfour\u2028five", "one two three four five"),
        ("[bold]not markup[/bold]", "[bold]not markup[/bold]"),
        ("Größe 日本語 👍", "Größe 日本語 👍"),
        ("Z\u0301\u0302\u0303\u0304\u0305", "Z\u0301\u0302"),
        ("\ud800", "\ufffd"),
        (b"\xff\xfe ok", "\ufffd\ufffd ok"),
        (b"\x1b[1mbytes", "bytes"),
    ],
)
def test_what_a_hostile_line_becomes(hostile: str | bytes, shown: str) -> None:
    assert safe_line(hostile) == shown


def test_a_control_string_hides_nothing_beyond_its_own_line() -> None:
    assert safe_block("\x1b]0;start\nhidden?\nend\x07") == "0;start\nhidden?\nend"


def test_what_was_cut_is_marked() -> None:
    assert safe_line("a" * 50, 10) == "a" * 9 + "…"
    assert safe_line("\x1b[0m" * 100_000 + "far away").endswith("…")
    assert safe_block("1\n2\n3", lines=2) == "1\n…"


@pytest.mark.parametrize(
    "piece",
    ["x", "\x1b", "\x1b]", "\x1b]\x1b[", "\x1bP;", "\x9d", "\x9d;\x90", "\x1b[1;", "\u0301", "\t", "\n", "\u202e"],
)
def test_megabytes_cost_no_more_than_what_is_shown(piece: str) -> None:
    text = piece * (8_000_000 // len(piece))
    start = time.thread_time()
    safe_line(text)
    safe_line(text.encode())
    safe_block(text)
    assert time.thread_time() - start < 2


def test_importing_it_loads_nothing_beyond_the_standard_library() -> None:
    heavy = "{'textual', 'pydantic', 'yaml', 'msgspec'}"
    code = f"import sys, proctor.text; print({heavy} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_file_names_differ_where_the_texts_do() -> None:
    assert file_name("14") == "14"
    names = {file_name(text) for text in ("14", "1/4", "1_4", "é", "ü", "..", "a" * 70, "a" * 71, "\ud800")}
    assert len(names) == 9
    assert all(safe_id(name, 80) == name for name in names)
