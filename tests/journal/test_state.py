"""The fold: total, monotone where it must be, the same in any number of pieces."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from proctor.journal import events as ev
from proctor.journal.fold import fold_all
from proctor.journal.state import CUT_SHORT, State
from proctor.words import (
    CheckpointKind,
    Dimension,
    IterationEnd,
    Phase,
    RequestKind,
    RequestOutcome,
    Response,
    Rule,
    TaskStatus,
    Verdict,
)

AT = datetime(2026, 1, 1, tzinfo=UTC)
TASKS = ev.TasksLoaded(tasks=tuple(ev.TaskFact(id=n, task=f"t{n}", checks=(ev.CheckFact(run=("c",)),)) for n in (1, 2)))


def rows(*events: ev.Event) -> list[ev.Row]:
    return [ev.Row(seq, AT, 1, event) for seq, event in enumerate(events, 1)]


def state(*events: ev.Event) -> State:
    return fold_all(rows(*events))


def taken(name: str, kind: CheckpointKind, **fields: object) -> ev.CheckpointTaken:
    return ev.CheckpointTaken(id=name, checkpoint=kind, commit="c" + name, tree="t" + name, **fields)  # type: ignore[arg-type]


def done(task: int, name: str) -> tuple[ev.Event, ...]:
    marks = (ev.TaskMark(id=task, status=TaskStatus.DONE, verified_by=1),)
    return taken(name, CheckpointKind.TASK, task=task, marks=marks), ev.TaskDone(
        task=task, iteration=1, checkpoint=name
    )


ids = st.sampled_from([1, 2, 3, "x"])
figures = st.builds(ev.Figure, used=st.integers(0, 1000))
fired = st.builds(
    ev.PlateauFired,
    rule=st.sampled_from(Rule),
    window=st.just(3),
    evidence=st.just(("e",)),
    response=st.sampled_from(Response),
)
checkpoints = st.builds(
    ev.CheckpointTaken,
    id=st.sampled_from(["c1", "c2"]),
    checkpoint=st.sampled_from(CheckpointKind),
    commit=st.just("x"),
    tree=st.just("y"),
)
anything = st.one_of(
    st.just(TASKS),
    st.builds(ev.TaskDone, task=ids, iteration=st.integers(0, 9), checkpoint=st.just("c1")),
    st.builds(ev.TaskCommitted, task=ids, checkpoint=st.just("c1"), commit=st.sampled_from(["a", "b"])),
    st.builds(ev.TaskMoved, task=ids, status=st.sampled_from(TaskStatus)),
    st.builds(
        ev.Judged,
        iteration=st.integers(0, 9),
        task=ids,
        phase=st.sampled_from(Phase),
        verdict=st.sampled_from(Verdict),
    ),
    st.builds(
        ev.Spent,
        figures=st.dictionaries(st.sampled_from(Dimension), figures, max_size=4),
    ),
    st.builds(ev.Settled, iteration=st.integers(0, 9), task=ids, amounts=st.just({Dimension.TOKENS: 5})),
    st.builds(ev.CeilingRaised, dimension=st.sampled_from(Dimension), by=st.integers(1, 9), limit=st.just(1)),
    st.builds(ev.RolledBack, safety=st.just("c1"), target=st.just("c1"), way=st.sampled_from(["rollback", "undo"])),
    st.builds(ev.RequestOpened, id=st.integers(1, 3), request=st.sampled_from(RequestKind), what=st.just("w")),
    st.builds(ev.RequestClosed, id=st.integers(1, 3), outcome=st.sampled_from(RequestOutcome)),
    fired,
    checkpoints,
    st.builds(ev.Unknown, name=st.just("moon"), body=st.just(msgspec.Raw(b"{}"))),
)


@given(st.lists(anything, max_size=30), st.integers(0, 30))
def test_folding_in_two_pieces_is_folding_at_once_and_survives_storage(events: list[ev.Event], cut: int) -> None:
    whole = rows(*events)
    first = fold_all(whole[:cut])
    stored = msgspec.json.decode(msgspec.json.encode(first), type=State)
    assert stored == first
    assert fold_all(whole[cut:], stored) == fold_all(whole)


@given(anything)
def test_every_event_survives_storage(event: ev.Event) -> None:
    assert ev.decode(ev.kind_of(event), ev.VERSION, ev.encode(event)) == event


@given(st.lists(anything, max_size=30))
def test_spend_never_falls_whatever_happens(events: list[ev.Event]) -> None:
    current = State()
    for row in rows(*events):
        before, current = current, fold_all([row], current)
        for dimension, figure in before.used.items():
            assert current.used[dimension].used >= figure.used


@given(st.lists(anything, max_size=30))
def test_a_closed_request_never_changes_again(events: list[ev.Event]) -> None:
    current = State()
    for row in rows(*events):
        before, current = current, fold_all([row], current)
        for request in before.requests:
            if request.outcome is not None:
                assert request in current.requests


def test_a_failed_verdict_keeps_a_task_selectable_and_a_verified_one_is_not_selected() -> None:
    failed = ev.Judged(iteration=1, task=1, phase=Phase.WORK, verdict=Verdict.FAILED)
    assert [t.id for t in state(TASKS, failed).open_tasks] == [1, 2]
    assert state(TASKS, failed).tasks[0].status is TaskStatus.FAILED
    assert [t.id for t in state(TASKS, failed, *done(1, "c1")).open_tasks] == [2]


@pytest.mark.parametrize("how", IterationEnd)
def test_what_an_iteration_that_was_cut_short_lacks_is_no_failure_of_its_own(how: IterationEnd) -> None:
    begun = ev.IterationStarted(iteration=1, task=1, key="k", model="")
    ended = ev.IterationEnded(iteration=1, task=1, how=how)
    failed = ev.Judged(iteration=1, task=1, phase=Phase.WORK, verdict=Verdict.FAILED)
    assert state(TASKS, begun, ended, failed).tasks[0].failed == (how not in CUT_SHORT)
    without = replace(failed, verdict=Verdict.INFRA)
    assert state(TASKS, begun, ended, without).tasks[0].failed == 0


def test_a_rollback_returns_tasks_to_where_they_were_and_marks_what_was_taken_back() -> None:
    start = taken("c1", CheckpointKind.START, marks=(ev.TaskMark(id=1, status=TaskStatus.PENDING),))
    back = ev.RolledBack(safety="c3", target="c1", way="rollback")
    after = state(TASKS, start, *done(1, "c2"), taken("c3", CheckpointKind.SAFETY), back)
    assert after.tasks[0].status is TaskStatus.PENDING
    assert after.tasks[0].taken_back
    assert after.good == "c1"


def test_last_good_is_never_a_safety_checkpoint_and_follows_undo() -> None:
    start, safety = taken("c1", CheckpointKind.START), taken("c3", CheckpointKind.SAFETY)
    base = (TASKS, start, *done(1, "c2"), safety)
    assert state(*base).good == "c2"
    back = ev.RolledBack(safety="c3", target="c1", way="rollback")
    undone = ev.RolledBack(safety="c4", target="c3", way="undo")
    assert state(*base, back, taken("c4", CheckpointKind.SAFETY), undone).good == "c2"


def test_an_undo_gives_a_task_its_checkpoint_back_and_a_commit_stays_known_by_it() -> None:
    verified = done(1, "c2")
    marks = verified[0].marks  # type: ignore[attr-defined]
    start, safety = taken("c1", CheckpointKind.START), taken("c3", CheckpointKind.SAFETY, marks=marks)
    committed = ev.TaskCommitted(task=1, checkpoint="c2", commit="b")
    back = ev.RolledBack(safety="c3", target="c1", way="rollback")
    before = (TASKS, start, *verified, committed, safety, back)
    assert state(*before).tasks[0].checkpoint is None
    undone = ev.RolledBack(safety="c4", target="c3", way="undo")
    after = state(*before, taken("c4", CheckpointKind.SAFETY), undone)
    assert after.tasks[0].checkpoint == "c2"
    assert after.committed == {"c2": "b"}


def test_what_a_task_cost_is_summed_over_its_iterations() -> None:
    settled = [ev.Settled(iteration=n, task=1, amounts={Dimension.TOKENS: n}) for n in (1, 2)]
    assert state(TASKS, *settled).tasks[0].spent == {Dimension.TOKENS: 3}


def test_a_raised_ceiling_outlives_the_next_loading_of_the_contract() -> None:
    terms = ev.ContractLoaded(
        contract="h",
        plan="p",
        ceilings=(ev.CeilingFact(dimension=Dimension.TOKENS, limit=10, action="park"),),  # type: ignore[arg-type]
    )
    raised = ev.CeilingRaised(dimension=Dimension.TOKENS, by=5, limit=15)
    assert state(terms, raised, terms).limit(Dimension.TOKENS) == 15


def test_a_changed_check_must_be_seen_to_fail_again() -> None:
    baseline = ev.Judged(iteration=0, task=1, phase=Phase.BASELINE, verdict=Verdict.FAILED)
    changed = ev.TasksLoaded(tasks=(ev.TaskFact(id=1, task="t1", checks=(ev.CheckFact(run=("other",)),)),))
    assert state(TASKS, baseline).tasks[0].baseline == baseline
    assert state(TASKS, baseline, changed).tasks[0].baseline is None


def test_a_pass_says_nothing_of_any_tree_once_it_was_lost_or_what_it_rests_on_changed() -> None:
    passed = ev.Judged(iteration=1, task=1, phase=Phase.WORK, verdict=Verdict.PASSED, tree="tc1")
    again = (TASKS, passed, *done(1, "c1"))
    lost = ev.Regressed(iteration=2, task=1, verdict=Verdict.FAILED)
    other = ev.TasksLoaded(tasks=(ev.TaskFact(id=1, task="t1", checks=(ev.CheckFact(run=("d",)),)), TASKS.tasks[1]))
    since = (other, ev.OracleFrozen(rev="2"), lost)
    for one in since:
        assert state(*again, one).tasks[0].proved == replace(passed, tree="")
    back = state(*again, lost, ev.RolledBack(safety="c2", target="c1", way="rollback")).tasks[0]
    assert (back.status, back.proved) == (TaskStatus.DONE, replace(passed, tree=""))
    assert state(*again, TASKS).tasks[0].proved == passed


def test_what_was_not_looked_at_or_held_back_is_looked_at_until_it_is_gone() -> None:
    begun = ev.IterationStarted(iteration=1, task=1, key="", tree="before")
    ended = ev.IterationEnded(iteration=1, task=1, how=IterationEnd.SUSPENDED, tree="after")
    settled = ev.Settled(iteration=1, task=1, amounts={})
    judged = ev.Judged(iteration=1, task=1, phase=Phase.WORK, verdict=Verdict.FAILED)
    start, later = taken("c1", CheckpointKind.START), taken("c2", CheckpointKind.ASKED)
    back = [ev.RolledBack(safety="c3", target=name, way="rollback") for name in ("c1", "c2")]
    assert state(TASKS, begun, ended, judged, settled).unlooked == ""
    for held in ((settled,), (judged, ev.Tampered(iteration=1, task=1, paths=(), own=True), settled)):
        told = (TASKS, start, begun, ended, *held, later)
        assert state(*told).unlooked == "before"
        assert state(*told, replace(begun, tree="after"), replace(ended, tree="more"), settled).unlooked == "before"
        assert [state(*told, one).unlooked for one in back] == ["", "before"]
        assert state(*told, ev.TaskDone(task=1, iteration=2, checkpoint="c4")).unlooked == ""


def test_the_operator_s_go_on_is_for_what_was_shown_and_a_pass_that_rests_on_it_keeps_it_looked_at() -> None:
    begun = ev.IterationStarted(iteration=1, task=1, key="", tree="before")
    seen, later = (ev.Finding(kind="sniffing", path="a.py", line=n, hunk=f"+{n}") for n in (1, 2))
    gamed = ev.Tampered(iteration=1, task=1, paths=(), own=True, findings=(seen,))
    question = ev.RequestOpened(id=1, request=RequestKind.TAMPERING, what="?")
    granted, denied = (ev.RequestClosed(id=1, outcome=o) for o in (RequestOutcome.GRANTED, RequestOutcome.DENIED))
    settled = ev.Settled(iteration=1, task=1, amounts={})
    told = (TASKS, taken("c1", CheckpointKind.START), begun, gamed, settled, question)
    assert state(*told, denied).let_go == ()
    gone_on = state(*told, granted)
    assert (gone_on.unlooked, gone_on.let_go) == ("before", (seen.identity,))
    assert replace(seen, line=9).identity in gone_on.let_go
    assert later.identity not in gone_on.let_go
    assert state(*told, granted, *done(1, "c2")).unlooked == "before", "another tree may pass with it"
    counted = state(*told, granted, *done(1, "c2"))
    assert (gone_on.accepted, counted.accepted) == ((), (seen.exact,)), "only the pass that was let count settles it"
    assert replace(seen, whole="another file").exact not in counted.accepted
    clean = ev.TaskDone(task=2, iteration=2, checkpoint="c3")
    back = ev.RolledBack(safety="c3", target="c1", way="rollback")
    for one in (clean, back):
        now = state(*told, granted, one)
        assert (now.unlooked, now.let_go) == ("", ())


def test_what_the_operator_told_a_worker_that_was_cut_short_the_next_one_is_told_too() -> None:
    begun, note = ev.IterationStarted(iteration=1, task=1, key=""), ev.Noted(text="use tabs")
    later = ev.Noted(text="and spaces")
    for how, left in (
        (IterationEnd.OPERATOR, ("use tabs", "and spaces")),
        (IterationEnd.START_FAILED, ("use tabs", "and spaces")),
        (IterationEnd.EXITED, ("and spaces",)),
    ):
        ended = ev.IterationEnded(iteration=1, task=1, how=how)
        assert state(TASKS, note, begun, later, ended).notes == left


def test_a_smoke_check_is_asked_anew_where_what_is_asked_for_or_rests_on_changed() -> None:
    passed = ev.Judged(iteration=1, task=None, phase=Phase.SMOKE, verdict=Verdict.PASSED, tree="t")
    failed = replace(passed, verdict=Verdict.FAILED)
    assert state(passed).smoked == "t"
    assert state(passed, ev.OracleFrozen(rev="2")).smoked == ""
    revised = state(passed, failed, ev.PlanRevised(rev="2"))
    assert (revised.smoked, revised.broken) == ("", None)


def test_what_a_repair_changed_was_looked_at_once_the_smoke_check_passes_on_it() -> None:
    begun = ev.IterationStarted(iteration=1, task=1, key="k", tree="before", repair=True, repair_only=True)
    ended = ev.IterationEnded(iteration=1, task=1, how=IterationEnd.EXITED, tree="after")
    mended = ev.Judged(iteration=1, task=None, phase=Phase.SMOKE, verdict=Verdict.PASSED, tree="after")
    settled = ev.Settled(iteration=1, task=1, amounts={})
    assert state(TASKS, begun, ended, mended, settled).unlooked == ""
    assert state(TASKS, begun, ended, settled).unlooked == "before"


def test_what_a_plateau_set_aside_comes_after_tasks_that_no_worker_has_tried() -> None:
    aside = ev.TaskMoved(task=1, status=TaskStatus.BLOCKED, why="plateau:same_failure")
    stalled = ev.PlateauFired(
        rule=Rule.STALLED, window=2, evidence=("x",), response=Response.ESCALATE, task=1, iteration=2
    )
    reset = ev.PlateauReset(by="operator")
    assert [task.id for task in state(TASKS, aside, reset).open_tasks] == [2, 1]
    assert [task.id for task in state(TASKS, stalled, reset).open_tasks] == [2, 1]
    assert [task.id for task in state(TASKS, reset).open_tasks] == [1, 2]


def test_three_failed_starts_in_a_row_are_counted_and_one_good_one_resets() -> None:
    def end(how: IterationEnd) -> ev.IterationEnded:
        return ev.IterationEnded(iteration=1, task=1, how=how)

    failing = [end(IterationEnd.START_FAILED)] * 3
    assert state(TASKS, *failing).start_failures == 3
    assert state(TASKS, *failing, end(IterationEnd.EXITED)).start_failures == 0


def test_no_undo_of_what_a_failed_verdict_took_back_reaches_behind_verified_work() -> None:
    failed = ev.RolledBack(safety="c2", target="c1", way="failed_verdict")
    own = ev.RolledBack(safety="c4", target="c1", way="rollback")
    base = (
        TASKS,
        taken("c1", CheckpointKind.START),
        taken("c2", CheckpointKind.SAFETY),
        taken("c4", CheckpointKind.SAFETY),
    )
    assert len(state(*base, own, failed).rollbacks) == 2
    assert state(*base, own, failed, *done(1, "c9")).rollbacks == ()
    assert [one.way for one in state(*base, failed, own, *done(1, "c9")).rollbacks] == ["rollback"]
