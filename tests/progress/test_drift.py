"""The seven lights, over rows as a loop writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from proctor.journal import events as ev
from proctor.journal.drift import CLAIMS, SURVEYS
from proctor.journal.fold import fold
from proctor.journal.state import State
from proctor.progress import drift
from proctor.words import Dimension, Drift, Light, Phase, Response, Verdict

NOW = datetime(2026, 11, 29, tzinfo=UTC)


class Journal:
    """Rows in the making, and their fold."""

    def __init__(self, tasks: int = 5, **windows: int) -> None:
        self.state = State()
        facts = tuple(ev.TaskFact(id=number, task=f"task {number}") for number in range(1, tasks + 1))
        terms = {Drift(name): figure for name, figure in windows.items()}
        self.write(ev.ContractLoaded(contract="c", plan="p", drift=terms), ev.TasksLoaded(tasks=facts))

    def write(self, *events: ev.Event) -> None:
        for event in events:
            body = ev.decode(ev.kind_of(event), ev.VERSION, ev.encode(event))
            self.state = fold(self.state, ev.Row(self.state.seq + 1, NOW, 1, body))

    def iteration(
        self, task: int, verdict: Verdict = Verdict.FAILED, claim: str = "", used: int = 0, **left: Any
    ) -> None:
        number = self.state.iteration + 1
        self.write(ev.IterationStarted(iteration=number, task=task, key="k"))
        if claim:
            self.write(ev.ClaimRecorded(iteration=number, task=task, status=claim))
        self.write(ev.Judged(iteration=number, task=task, phase=Phase.WORK, verdict=verdict))
        if verdict is Verdict.PASSED:
            self.write(ev.TaskDone(task=task, iteration=number, checkpoint=f"c{number}"))
        self.write(ev.Settled(iteration=number, task=task, amounts={Dimension.TOKENS: used}))
        self.write(ev.Surveyed(iteration=number, task=task, **left))

    def of(self, light: Drift) -> drift.Reading:
        return drift.reading(self.state, light)


def test_a_run_that_goes_well_lights_nothing() -> None:
    journal = Journal()
    for task in range(1, 6):
        journal.iteration(task, Verdict.PASSED, "done", used=1000, folder="src", files=2, grown=400)
    assert {one.light for one in drift.lights(journal.state)} == {Light.QUIET}
    assert [one.drift for one in drift.lights(journal.state)] == list(Drift)
    assert all(one.why for one in drift.lights(journal.state))
    assert drift.told(drift.lights(journal.state), 1) == ()


def test_a_false_claim_is_suspect_until_a_true_one_and_many_of_them_fire() -> None:
    journal = Journal()
    journal.iteration(1, claim="done")
    assert journal.of(Drift.PREMATURE_VICTORY).light is Light.SUSPECT
    journal.iteration(1, Verdict.INFRA, "done")
    journal.iteration(1, claim="")
    journal.iteration(1, Verdict.PASSED, "Done")
    said = journal.of(Drift.PREMATURE_VICTORY)
    assert (said.light, said.why) == (Light.QUIET, "1 of 2 claims false (50 %); the last one was true")
    for _ in range(2):
        journal.iteration(2, claim="finished")
    said = journal.of(Drift.PREMATURE_VICTORY)
    assert (said.light, said.why, said.task) == (Light.FIRING, "3 of 4 claims false (75 %)", 2)
    assert said.evidence[0] == "iteration 1: task 1 said done, the check said failed"
    for _ in range(2 * CLAIMS):
        journal.iteration(3, Verdict.PASSED, "done")
    assert journal.of(Drift.PREMATURE_VICTORY).light is Light.QUIET
    assert len(journal.state.drift.claims) == CLAIMS


def test_a_light_of_zero_is_off() -> None:
    journal = Journal(**dict.fromkeys(Drift, 0))
    for _ in range(8):
        journal.iteration(1, claim="done", folder="src", files=1, grown=10**6, contradicted=3)
    assert {(one.light, one.why) for one in drift.lights(journal.state)} == {
        (Light.QUIET, "switched off by the contract")
    }
    assert drift.runaway(journal.state) is None


def test_what_a_task_names_and_is_gone_fires_until_it_is_confirmed_revised_or_done() -> None:
    journal = Journal()
    journal.write(ev.PlanAccepted(plan="a", checkpoint="c1"), ev.PlanRotted(task=2, gone=("a.py", "read_row")))
    said = journal.of(Drift.PLAN_ROT)
    assert (said.light, said.task, said.why) == (Light.FIRING, 2, "a.py and 1 more gone, and task 2 names it")
    kept = journal.state
    journal.write(ev.PlanConfirmed(gone=("a.py", "read_row")))
    assert journal.of(Drift.PLAN_ROT).light is Light.QUIET
    for row in (ev.PlanRotted(task=2), ev.PlanAccepted(plan="b", checkpoint="c4")):
        journal.state = kept
        journal.write(row)
        assert journal.of(Drift.PLAN_ROT).light is Light.QUIET


@pytest.mark.parametrize(
    ("left", "light"),
    [
        ({"grown": 5_000}, Light.QUIET),
        ({"grown": 8_000}, Light.SUSPECT),
        ({"grown": 40_000}, Light.FIRING),
        ({"contradicted": 1}, Light.SUSPECT),
        ({"stale": ("a.py", "b.py")}, Light.QUIET),
        ({"stale": ("a.py", "b.py", "c.py")}, Light.SUSPECT),
        ({"contradicted": 1, "stale": ("a.py", "b.py", "c.py")}, Light.FIRING),
        ({"undone": 1}, Light.SUSPECT),
    ],
)
def test_a_log_that_grows_lies_or_is_stale_is_polluted(left: dict[str, Any], light: Light) -> None:
    journal = Journal()
    for _ in range(2):
        journal.iteration(1, **left)
    assert journal.of(Drift.STATE_POLLUTION).light is light


def test_tampering_fires_and_a_suspicion_is_suspect_for_so_many_iterations() -> None:
    journal = Journal()
    for row, light in (
        (ev.Suspected(iteration=1, task=1, findings=(ev.Finding(kind="skip", path="t.py", line=3),)), Light.SUSPECT),
        (ev.Tampered(iteration=1, task=1, paths=("t.py",)), Light.FIRING),
    ):
        fresh = Journal()
        fresh.iteration(1)
        fresh.write(row)
        assert fresh.of(Drift.TEST_GAMING).light is light
        fresh.iteration(1)
        fresh.iteration(1)
        assert fresh.of(Drift.TEST_GAMING).light is light
        fresh.iteration(1)
        assert fresh.of(Drift.TEST_GAMING).light is Light.QUIET
        assert "not lately" in fresh.of(Drift.TEST_GAMING).why
    assert journal.of(Drift.TEST_GAMING).why == "no change touched the checks"


def test_changes_in_one_folder_while_others_are_open_elsewhere_are_tunnel_vision() -> None:
    away = (ev.Named("task 2", "docs/cli.md"), ev.Named("task 1", "src/a/x.py"))
    journal = Journal()
    for folder in ("src/a", "src/a/deep", "src/a"):
        journal.iteration(1, folder=folder, files=3, named=away)
    assert journal.of(Drift.TUNNEL_VISION).light is Light.QUIET
    journal.iteration(1, files=0, named=away)
    journal.iteration(1, folder="src/a", files=1, named=away)
    said = journal.of(Drift.TUNNEL_VISION)
    assert (said.light, said.why) == (
        Light.SUSPECT,
        "4 iterations in src/a/ and nothing verified; task 2 names docs/cli.md",
    )
    assert "changed src/a/ only" in drift.told([said], 1)[0]
    for _ in range(4):
        journal.iteration(1, folder="src/a", files=1, named=away)
    assert journal.of(Drift.TUNNEL_VISION).light is Light.FIRING
    kept = journal.state
    journal.iteration(1, Verdict.PASSED, folder="src/a", files=1, named=away)
    assert journal.of(Drift.TUNNEL_VISION).light is Light.QUIET
    journal.state = kept
    journal.iteration(1, folder="docs", files=1, named=away)
    assert journal.of(Drift.TUNNEL_VISION).light is Light.QUIET


def test_nothing_open_elsewhere_is_no_tunnel() -> None:
    journal = Journal()
    for _ in range(2 * SURVEYS):
        journal.iteration(1, folder="src", files=1, named=(ev.Named("task 2", "src/b.py"),))
    assert journal.of(Drift.TUNNEL_VISION).light is Light.QUIET
    assert len(journal.state.drift.surveys) == SURVEYS


def test_a_lost_task_fires_with_the_way_back_until_it_is_verified_again() -> None:
    journal = Journal()
    journal.iteration(1, Verdict.PASSED)
    failed = ev.Judged(iteration=2, task=1, phase=Phase.REGRESSION, verdict=Verdict.FAILED, tree="t", reason="1 of 2")
    journal.write(failed, replace(failed, verdict=Verdict.PASSED))
    said = journal.of(Drift.SILENT_REGRESSION)
    assert (said.light, said.task) == (Light.SUSPECT, 1)
    assert "unstable" in said.why
    journal.write(failed, failed, ev.Regressed(iteration=2, task=1, verdict=Verdict.FAILED, checkpoint="c1"))
    said = journal.of(Drift.SILENT_REGRESSION)
    assert (said.light, said.task) == (Light.FIRING, 1)
    assert "`proctor rollback --to c1`" in said.why
    for _ in range(3):
        journal.iteration(2)
    journal.iteration(1, Verdict.PASSED)
    said = journal.of(Drift.SILENT_REGRESSION)
    assert (said.light, said.why) == (Light.QUIET, "1 regression, mended")


def test_a_task_that_costs_many_times_the_median_is_narrowed_then_parks_each_time_later() -> None:
    journal = Journal()
    for task, used in ((1, 100), (2, 120), (3, 80)):
        journal.iteration(task, Verdict.PASSED, used=used)
    assert journal.of(Drift.BUDGET_RUNAWAY).why == "100 of tokens a verified task"
    answers = []
    for _ in range(25):
        journal.iteration(4, used=100)
        answer = drift.runaway(journal.state)
        assert drift.runaway(journal.state) is answer
        if answer is not None:
            answers.append((journal.state.iteration - 3, answer))
            row = ev.DriftAnswered(
                drift=Drift.BUDGET_RUNAWAY, response=answer, task=4, iteration=journal.state.iteration
            )
            journal.write(row)
            assert drift.runaway(journal.state) is answer, "decided again after a restart, it is the same"
    assert answers == [(5, Response.NARROW), (10, Response.PARK), (20, Response.PARK)]
    said = journal.of(Drift.BUDGET_RUNAWAY)
    assert (said.light, said.task) == (Light.FIRING, 4)
    assert "25.0 times the median of 3 verified tasks" in said.why
    task = journal.state.task(4)
    assert task is not None
    assert task.narrow
    assert drift.told([said], 4)
    assert not drift.told([said], 5)


def test_a_claim_counts_whatever_is_said_of_other_tasks_beside_it() -> None:
    journal = Journal()
    for others in ((), (2, 3)):
        number = journal.state.iteration + 1
        journal.write(ev.IterationStarted(iteration=number, task=1, key="k"))
        journal.write(*(ev.ClaimRecorded(iteration=number, task=task, status="done") for task in (1, *others)))
        journal.write(ev.Judged(iteration=number, task=1, phase=Phase.WORK, verdict=Verdict.FAILED))
    assert (journal.state.drift.false, journal.state.drift.claimed) == (2, 2)


def test_rising_spend_is_suspect_and_few_tasks_say_nothing() -> None:
    journal = Journal()
    for task, used in ((1, 100), (2, 100), (3, 150)):
        assert journal.of(Drift.BUDGET_RUNAWAY).light is Light.QUIET
        journal.iteration(task, Verdict.PASSED, used=used)
    journal.iteration(4, Verdict.PASSED, used=400)
    said = journal.of(Drift.BUDGET_RUNAWAY)
    assert (said.light, said.why) == (
        Light.SUSPECT,
        "a verified task costs more each time: 100 < 150 < 400 of tokens",
    )
