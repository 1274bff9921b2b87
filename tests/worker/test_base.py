"""The protocol's lines: what is understood, and that nothing else is guessed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.worker.base import Ask, Claim, Note, Tool, Usage
from proctor.worker.command import parse_line
from proctor.worker.pipes import MAX_LINE, Lines

KNOWN = [
    ({"proctor": "usage", "model": "m", "input": 3, "output": 2, "cache_read": 1}, Usage("m", 3, 2, 1, 0)),
    ({"proctor": "tool", "name": "shell", "input": {"command": "ls"}}, Tool("shell", {"command": "ls"})),
    ({"proctor": "claim", "task": 14, "status": "done"}, Claim(14, "done")),
    ({"proctor": "note", "text": "hm"}, Note("hm")),
    ({"proctor": "ask", "id": 7, "tool": "shell", "input": {}, "why": "w"}, Ask("7", "shell", {}, "w")),
]


@pytest.mark.parametrize(("data", "event"), KNOWN)
def test_known_words_are_events(data: dict[str, object], event: object) -> None:
    assert parse_line(json.dumps(data).encode()) == event


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"plain text",
        b'say {"proctor": "claim", "task": 1, "status": "done"}',
        b'{"proctor": "later", "x": 1}',
        b'{"proctor": "claim"}',
        b'{"proctor": "claim", "task": true, "status": "done"}',
        b'{"proctor": "usage", "input": -5}',
        b'{"proctor": "usage", "input": 1e30}',
        b'{"proctor": "usage", "output": "many"}',
        b'{"proctor": "tool", "name": ["x"]}',
        b'{"proctor": "ask", "id": "a", "tool": "shell", "input": [1]}',
        b'{"proctor": ' + b"[" * 100_000,
        b'{"proctor": "note", "text": "\xff\xfe"}',
        b'["proctor"]',
    ],
)
def test_anything_else_is_an_ordinary_line(line: bytes) -> None:
    assert parse_line(line) is None


@given(st.binary(max_size=200))
def test_no_line_raises(line: bytes) -> None:
    parse_line(line)
    parse_line(b'{"proctor": ' + line + b"}")


@given(st.binary(max_size=400), st.lists(st.integers(1, 50)))
def test_lines_do_not_depend_on_where_chunks_are_cut(data: bytes, cuts: list[int]) -> None:
    def lines_of(chunks: list[bytes]) -> list[bytes]:
        found: list[bytes] = []
        lines = Lines(found.append)
        for chunk in chunks:
            lines.feed(chunk)
        lines.end()
        return found

    chunks, rest = [], data
    for cut in cuts:
        chunks, rest = [*chunks, rest[:cut]], rest[cut:]
    assert lines_of([*chunks, rest]) == lines_of([data])


def test_a_line_without_an_end_costs_no_memory_and_is_cut_once() -> None:
    found: list[bytes] = []
    lines = Lines(found.append)
    for _ in range(100):
        lines.feed(b"x" * 100_000)
    lines.feed(b"tail\nnext\n")
    assert [len(line) for line in found] == [len(found[0]), 4]
    assert MAX_LINE < len(found[0]) <= MAX_LINE + 100_000
    assert found[1] == b"next"
