"""The blast radius is a union that only grows."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from proctor.workspace.blast import Blast, LiveBlast
from proctor.workspace.tree import Kind, Touch


@dataclass(frozen=True)
class Change:
    path: str
    added: int = 0
    removed: int = 0
    size: int = 0


CHANGES = st.lists(
    st.builds(Change, st.sampled_from("abcde"), st.integers(0, 9), st.integers(0, 9), st.integers(0, 99)), max_size=6
)


def test_files_count_once_lines_and_bytes_each_time() -> None:
    blast = Blast().add([Change("a", 3, 1, 100), Change("b", 1)]).add([Change("a", 0, 4, 60)])
    assert blast == Blast(frozenset("ab"), 9, 160)


@given(st.lists(CHANGES))
def test_it_never_falls(iterations: list[list[Change]]) -> None:
    blast = Blast()
    for changes in iterations:
        after = blast.add(changes)
        assert after.files >= blast.files
        assert after.lines >= blast.lines
        assert after.bytes >= blast.bytes
        blast = after
    assert blast.files == {change.path for changes in iterations for change in changes}


def test_the_live_estimate_stands_on_what_the_session_touched_before() -> None:
    live = LiveBlast()
    live.touch([Touch("a", Kind.CHANGED, 50), Touch("c", Kind.ADDED, 10)])
    live.touch([Touch("c", Kind.CHANGED, 30), Touch("c", Kind.CHANGED, 20), Touch("d", Kind.REMOVED)])
    assert live.upon(Blast(frozenset("ab"), 7, 100)) == Blast(frozenset("abcd"), 7, 180)


def test_files_that_came_and_went_count_as_bytes_only() -> None:
    live = LiveBlast()
    live.touch([Touch("tmp", Kind.ADDED, 10), Touch("tmp", Kind.REMOVED), Touch("old", Kind.REMOVED)])
    assert live.upon(Blast()) == Blast(frozenset({"old"}), 0, 10)
    live.touch([Touch("tmp", Kind.ADDED, 5)])
    assert live.upon(Blast()) == Blast(frozenset({"old", "tmp"}), 0, 10)
