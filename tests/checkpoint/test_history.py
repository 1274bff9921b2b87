from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from proctor.checkpoint.history import DEPTH, Operation, UndoStack, Way, stack_from


@dataclass(frozen=True)
class Moved:
    way: str
    safety: str
    target: str


def test_undo_goes_back_to_what_a_rollback_left_and_redo_to_what_the_undo_left() -> None:
    stack = UndoStack().moved(Way.ROLLBACK, "c5", "c2")
    assert (stack.undo_target, stack.redo_target) == ("c5", None)
    stack = stack.moved(Way.UNDO, "c6", "c5")
    assert (stack.undo_target, stack.redo_target) == (None, "c6")
    stack = stack.moved(Way.REDO, "c7", "c6")
    assert (stack.undo_target, stack.redo_target) == ("c7", None)


def test_a_new_rollback_forgets_what_could_be_redone() -> None:
    stack = stack_from([Moved("rollback", "c3", "c1"), Moved("undo", "c4", "c3"), Moved("failed_verdict", "c5", "c2")])
    assert stack.operations == (Operation("c5", "c2"),)
    assert stack.redo_target is None


def test_an_undo_or_redo_of_nothing_changes_nothing() -> None:
    assert UndoStack().moved(Way.UNDO, "c1", "c0") == UndoStack()
    assert UndoStack().moved(Way.REDO, "c1", "c0") == UndoStack()


def test_fifty_rollbacks_can_be_undone_and_redone() -> None:
    stack = stack_from(Moved("rollback", f"s{number}", "c1") for number in range(DEPTH + 10))
    seen = []
    while stack.undo_target:
        seen.append(stack.undo_target)
        stack = stack.moved(Way.UNDO, f"u{len(seen)}", stack.undo_target)
    assert seen == [f"s{number}" for number in range(DEPTH + 9, 9, -1)]
    seen = []
    while stack.redo_target:
        seen.append(stack.redo_target)
        stack = stack.moved(Way.REDO, f"r{len(seen)}", stack.redo_target)
    assert seen == [f"u{number}" for number in range(DEPTH, 0, -1)]


@given(st.lists(st.sampled_from(["work", "rollback", "undo", "redo"]), max_size=80))
def test_walking_back_and_forth_always_lands_where_one_was(steps: list[str]) -> None:
    """Trees are numbers; each is kept under the name of the safety checkpoint that was taken of it."""
    trees = {"c1": 0}
    present, latest, stack = 0, 0, UndoStack()
    left: list[int] = []
    ahead: list[int] = []
    for step in steps:
        safety = f"c{len(trees) + 1}"
        if step == "work":
            latest += 1
            present = latest
            continue
        target = {"rollback": "c1", "undo": stack.undo_target, "redo": stack.redo_target}[step]
        assert (step == "undo" and not left) == (step == "undo" and target is None)
        assert (step == "redo" and not ahead) == (step == "redo" and target is None)
        if target is None:
            continue
        trees[safety] = present
        expected = {"rollback": lambda: 0, "undo": left.pop, "redo": ahead.pop}[step]()
        if step == "rollback":
            ahead.clear()
        (ahead if step == "undo" else left).append(present)
        del left[:-DEPTH]
        present = trees[target]
        assert present == expected
        stack = stack.moved(Way(step), safety, target)
        assert stack.held <= trees.keys()
