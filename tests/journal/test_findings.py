"""What was found in a session's changes, told once each, with what of it is still there."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from proctor.journal import events as ev
from proctor.journal import findings
from proctor.journal.state import CheckpointState, State
from proctor.words import CheckpointKind

AT = datetime(2026, 1, 1, tzinfo=UTC)


def kept(name: str, iteration: int) -> CheckpointState:
    taken = ev.CheckpointTaken(
        id=name, checkpoint=CheckpointKind.SAFETY, commit="", tree="", iteration=iteration, marks=()
    )
    return CheckpointState(id=name, at=AT, taken=taken)


def tampered(iteration: int, *found: ev.Finding, paths: tuple[str, ...] = ()) -> ev.Tampered:
    return ev.Tampered(iteration=iteration, task=1, paths=paths, kinds=("added",) * len(paths), findings=found)


def test_every_change_is_told_once_whichever_row_and_place_it_was_found_at() -> None:
    one = ev.Finding(kind="exit", path="a.py", line=2, why="leaves", hunk="+exit(0)\n+exit(1)")
    rows = (tampered(1, one, replace(one, line=3)), tampered(2, one), tampered(3, paths=("tests/new.py",)))
    told = findings.told(State(), rows)
    assert [(row.iteration, row.where) for row in told] == [
        (3, "tests/new.py  new in a protected place"),
        (2, "a.py:2  leaves"),
    ]
    (first,) = findings.told(State(), rows[:1])
    assert first.where == "a.py:2  leaves; a.py:3  leaves"


def test_what_a_rollback_took_back_is_gone_until_it_is_undone() -> None:
    state = State(checkpoints=(kept("c1", 1), kept("c2", 3), kept("c3", 3)))
    back = ev.RolledBack(safety="c2", target="c1", way="rollback", changed=1)
    undone = ev.RolledBack(safety="c3", target="c2", way="undo", changed=1)
    assert findings.taken_back(replace(state, rollbacks=(back,)), (1, 2, 3, 4)) == {2, 3}
    assert findings.taken_back(replace(state, rollbacks=(back, undone)), (1, 2, 3, 4)) == frozenset()
    assert findings.taken_back(replace(state, rollbacks=(replace(back, paths=("a",)),)), (2,)) == frozenset()
    (gone,) = findings.told(replace(state, rollbacks=(back,)), (tampered(3, paths=("x",)),))
    assert gone.where == "x  new in a protected place  (taken back since)"
