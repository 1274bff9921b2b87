"""Who has changed what since a checkpoint, as the rows and the recorded trees say it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from proctor.journal import events as ev
from proctor.supervisor.authors import Authors, Hands, authors, story
from proctor.words import CheckpointKind, IterationEnd

Files = dict[str, str]


class Session:
    """Rows about trees that are dictionaries, named by what they hold."""

    def __init__(self) -> None:
        self.rows: list[ev.Row] = []
        self.trees: dict[str, Files] = {}

    def tree(self, **files: str) -> str:
        name = repr(sorted(files.items()))
        self.trees[name] = files
        return name

    def add(self, *events: ev.Event) -> None:
        for event in events:
            self.rows.append(ev.Row(seq=len(self.rows) + 1, at=datetime.now(UTC), token=1, event=event))

    def checkpoint(self, id: str, **files: str) -> None:
        kind = CheckpointKind.ASKED
        self.add(ev.CheckpointTaken(id=id, checkpoint=kind, commit=id, tree=self.tree(**files)))

    def starts(self, number: int, **files: str) -> None:
        self.add(ev.IterationStarted(iteration=number, task=1, key="", tree=self.tree(**files)))

    def ends(self, number: int, **files: str) -> None:
        self.add(ev.IterationEnded(iteration=number, task=1, how=IterationEnd.EXITED, tree=self.tree(**files)))

    def back(self, target: str, *paths: str, mine: tuple[str, ...] = (), **files: str) -> None:
        tree = self.tree(**files)
        self.add(ev.RolledBack(safety="s", target=target, way="rollback", paths=paths, mine=mine, tree=tree))

    def since(self, target: str, lost: Collection[str] = (), **present: str) -> Authors:
        first = next(
            row.event for row in self.rows if isinstance(row.event, ev.CheckpointTaken) and row.event.id == target
        )
        return authors(story(self.rows, target, first.tree, self.tree(**present)), self.differing, lost)

    def differing(self, pairs: Sequence[tuple[str, str]]) -> list[set[str]]:
        return [{path for path, _ in self.trees[before].items() ^ self.trees[after].items()} for before, after in pairs]


def test_what_changes_between_iterations_is_the_operator_s_and_within_one_the_worker_s() -> None:
    session = Session()
    session.checkpoint("c1", a="1", b="1", c="1", d="1")
    session.starts(1, a="1", b="2", c="1", d="1")
    session.ends(1, a="2", b="2", c="2", d="1")
    session.starts(2, a="2", b="2", c="3", d="1")
    found = session.since("c1", a="2", b="2", c="3", d="5")
    assert found == Authors(mine=frozenset({"b"}), both=frozenset({"c"}))


def test_what_changed_after_the_last_iteration_is_the_operator_s() -> None:
    session = Session()
    session.checkpoint("c1", a="1")
    session.starts(1, a="1")
    session.ends(1, a="2")
    assert session.since("c1", a="2", new="1").mine == {"new"}


def test_only_what_came_after_the_checkpoint_counts() -> None:
    session = Session()
    session.checkpoint("c1", a="1")
    session.checkpoint("c2", a="2")
    session.starts(1, a="2")
    session.ends(1, a="2", b="1")
    assert session.since("c2", a="2", b="1") == Authors()
    assert session.since("c1", a="2", b="1").mine == {"a"}


def test_a_checkpoint_in_the_middle_of_an_iteration_does_not_end_the_worker_s_turn() -> None:
    session = Session()
    session.starts(1, a="1")
    session.checkpoint("c1", a="2")
    session.checkpoint("c2", a="3")
    assert session.since("c1", a="4") == Authors()


def test_what_the_watcher_saw_while_the_worker_stood_still_is_the_operator_s() -> None:
    session = Session()
    session.checkpoint("c1")
    session.starts(1)
    session.add(ev.OperatorWrote(iteration=1, mine=("a", "b")), ev.OperatorWrote(iteration=1, both=("b",)))
    session.ends(1, a="1", b="1", c="1")
    assert session.since("c1", a="1", b="1", c="1") == Authors(frozenset({"a"}), frozenset({"b"}))


def test_a_rollback_brings_back_what_was_known_of_its_target() -> None:
    session = Session()
    session.checkpoint("c1", a="1")
    session.checkpoint("c2", a="2")
    session.starts(1, a="2")
    session.ends(1, a="3", b="1")
    session.checkpoint("s", a="3", b="1")
    session.back("c2", a="2")
    assert session.since("c1", a="2").mine == {"a"}
    assert session.since("c1", a="2", b="2") == Authors(mine=frozenset({"a", "b"}))
    session.back("s", a="3", b="1")
    assert session.since("c1", a="3", b="1") == Authors(both=frozenset({"a"}))


def test_a_rollback_of_some_paths_or_with_edits_that_stay_forgets_nothing_of_the_others() -> None:
    session = Session()
    session.checkpoint("c1", a="1", b="1")
    session.checkpoint("s", a="2", b="2")
    session.back("c1", "a", a="1", b="2")
    assert session.since("c1", a="1", b="2").mine == {"b"}
    session.back("c1", mine=("b",), a="1", b="2")
    assert session.since("c1", a="1", b="2").mine == {"b"}


def test_what_lies_around_a_tree_that_was_pruned_is_everybody_s() -> None:
    session = Session()
    session.checkpoint("c1")
    session.starts(1, a="1")
    session.ends(1, a="1", b="1")
    assert session.since("c1", lost={session.tree(a="1")}, a="1", b="1").both == {"a", "b"}


def test_rows_say_once_who_touched_what() -> None:
    hands = Hands(3)
    assert hands.touched(still=(), moving=("w",)) is None
    assert hands.touched(still=("m", "w"), moving=()) == ev.OperatorWrote(iteration=3, mine=("m",), both=("w",))
    assert hands.touched(still=("m", "w"), moving=("w",)) is None
    assert hands.touched(still=(), moving=("m",)) == ev.OperatorWrote(iteration=3, both=("m",))


def test_what_the_operator_writes_again_after_a_checkpoint_is_said_again() -> None:
    hands, session = Hands(1), Session()

    def touch(newest: str, still: str = "", moving: str = "") -> None:
        if row := hands.touched(still.split(), moving.split(), newest):
            session.add(row)

    session.checkpoint("c1", a="1", b="1")
    session.starts(1, a="1", b="1")
    touch("c1", still="a b", moving="b")
    session.checkpoint("c2", a="2", b="2")
    touch("c2", still="a b")
    assert session.since("c2", a="3", b="3").mine == {"a", "b"}
    assert session.since("c1", a="3", b="3") == Authors(frozenset("a"), frozenset("b"))
