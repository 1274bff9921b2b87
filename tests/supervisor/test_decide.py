"""The policy after an iteration, question by question."""

from __future__ import annotations

import pytest

from proctor.budget.thresholds import Binding, Scope
from proctor.progress.plateau import Signal, Standing
from proctor.supervisor.decide import CONFLICT, START_FAILURES, Facts, Move, decide
from proctor.supervisor.ending import code_of
from proctor.words import Dimension, Exhaustion, ExitCode, Light, Response, Rule, SessionStatus

SIGNAL = Signal(rule=Rule.NO_CHANGE, window=3, evidence=("iterations 1, 2, 3",))
FIRING = Standing(Light.FIRING, (SIGNAL,), "no_change fires", counted=True)
STALLED = Signal(rule=Rule.STALLED, window=2, evidence=("2 tasks in a row",))
ALL = (Response.NARROW, Response.BLOCK, Response.ESCALATE, Response.PARK)


def bound(action: Exhaustion | None, scope: Scope = Scope.SESSION) -> Binding:
    return Binding(Dimension.TOKENS, scope, 10, 10, action)


def test_nothing_open_is_the_way_to_the_end_also_on_the_last_allowed_iteration() -> None:
    facts = Facts(open_tasks=0, binding=bound(Exhaustion.STOP), standing=FIRING, conflict=True)
    assert decide(facts).move is Move.FINISH


def test_an_ordinary_iteration_goes_on() -> None:
    assert decide(Facts(open_tasks=2)).move is Move.GO_ON


@pytest.mark.parametrize("action", Exhaustion)
def test_a_ceiling_does_what_it_declares(action: Exhaustion) -> None:
    decision = decide(Facts(open_tasks=1, binding=bound(action)))
    assert decision.move.value == action.value
    assert decision.why == "budget:tokens"


def test_the_limit_of_one_task_blocks_it_and_that_of_one_iteration_ends_only_it() -> None:
    assert decide(Facts(open_tasks=1, binding=bound(None, Scope.TASK))).move is Move.BLOCK
    assert decide(Facts(open_tasks=1, binding=bound(None, Scope.ITERATION))).move is Move.GO_ON


def test_a_budget_binds_before_a_plateau() -> None:
    decision = decide(Facts(open_tasks=1, binding=bound(Exhaustion.PARK), standing=FIRING))
    assert decision.why == "budget:tokens"
    assert decision.signal is None


def test_a_task_that_runs_away_parks_before_a_plateau_is_thought_about_and_is_narrowed_after_it() -> None:
    parked = decide(Facts(open_tasks=2, runaway=Response.PARK, standing=FIRING))
    assert (parked.move, parked.why) == (Move.PARK, "drift:budget_runaway")
    assert code_of(SessionStatus.PARKED, parked.why) is ExitCode.BUDGET
    assert decide(Facts(open_tasks=2, runaway=Response.NARROW)).move is Move.NARROW
    assert decide(Facts(open_tasks=2, runaway=Response.NARROW, standing=FIRING)).signal is SIGNAL


def test_starts_that_fail_again_and_again_fail_the_session() -> None:
    assert decide(Facts(open_tasks=1, start_failures=START_FAILURES - 1)).move is Move.GO_ON
    assert decide(Facts(open_tasks=1, start_failures=START_FAILURES)).why == "error:start"


def test_responses_to_a_plateau_come_in_the_contracts_order_and_the_last_repeats() -> None:
    moves = [
        decide(Facts(open_tasks=2, standing=FIRING, on_plateau=ALL, responses=n, narrowed=n > 0)).move for n in range(6)
    ]
    assert moves == [Move.NARROW, Move.BLOCK, Move.ESCALATE, Move.PARK, Move.PARK, Move.PARK]


def test_the_only_open_task_is_not_set_aside_because_nothing_would_be_left_to_do() -> None:
    facts = Facts(open_tasks=1, standing=FIRING, on_plateau=ALL, responses=1, narrowed=True)
    assert decide(facts).move is Move.ESCALATE


def test_a_task_is_narrowed_once_and_never_simply_tried_again() -> None:
    again = decide(Facts(open_tasks=1, standing=FIRING, on_plateau=(Response.NARROW,), responses=1, narrowed=True))
    assert again.move is Move.PARK
    for responses in range(5):
        facts = Facts(open_tasks=1, standing=FIRING, on_plateau=ALL, responses=responses, narrowed=True)
        assert decide(facts).move not in (Move.GO_ON, Move.NARROW)


def test_one_rule_alone_is_a_suspicion_that_stops_nothing() -> None:
    suspect = Standing(Light.SUSPECT, (SIGNAL,), "no_change alone", counted=True)
    assert decide(Facts(open_tasks=2, standing=suspect, on_plateau=ALL)).move is Move.GO_ON


def test_a_second_task_in_a_row_is_not_set_aside_in_silence() -> None:
    facts = Facts(open_tasks=3, standing=FIRING, on_plateau=ALL, responses=1, narrowed=True, second_aside=STALLED)
    decision = decide(facts)
    assert (decision.move, decision.why, decision.signal) == (Move.ESCALATE, "plateau:stalled", STALLED)
    only = Facts(open_tasks=3, standing=FIRING, on_plateau=(Response.BLOCK,), second_aside=STALLED)
    assert decide(only).move is Move.PARK


def test_what_concerns_the_whole_run_is_not_answered_by_less_of_one_task() -> None:
    stalled = Standing(Light.FIRING, (STALLED, SIGNAL), "stalled fires by itself", counted=True)
    assert decide(Facts(open_tasks=3, standing=stalled, on_plateau=ALL)).move is Move.ESCALATE


def test_tampering_is_answered_as_the_contract_says_or_only_recorded() -> None:
    assert decide(Facts(open_tasks=1, tampering=Response.ESCALATE)).why == "tampering"
    assert decide(Facts(open_tasks=1)).move is Move.GO_ON


def test_tampering_with_the_last_task_is_answered_before_the_end() -> None:
    assert decide(Facts(open_tasks=0, tampering=Response.PARK)).move is Move.PARK
    asked = Facts(open_tasks=0, tampering=Response.ESCALATE, binding=bound(Exhaustion.PARK))
    assert decide(asked).why == "tampering", "a ceiling has no say where nothing is left to spend"
    assert decide(Facts(open_tasks=0)).move is Move.FINISH


@pytest.mark.parametrize("action", [Exhaustion.PARK, Exhaustion.STOP, Exhaustion.ESCALATE])
def test_what_there_was_to_ask_beside_a_ceiling_is_decided_when_the_session_goes_on(action: Exhaustion) -> None:
    both = Facts(open_tasks=1, binding=bound(action), tampering=Response.ESCALATE, conflict=True)
    assert decide(both).for_now
    after = Facts(open_tasks=1, tampering=Response.ESCALATE, conflict=True)
    assert (decide(after).why, decide(after).for_now) == (CONFLICT, False)


@pytest.mark.parametrize("answer", [Response.PARK, Response.STOP, Response.ESCALATE])
def test_a_check_that_is_called_wrong_is_asked_about_before_tampering_ends_the_session(answer: Response) -> None:
    assert decide(Facts(open_tasks=1, tampering=answer, conflict=True)).why == CONFLICT


@pytest.mark.parametrize("scope", [Scope.TASK, Scope.ITERATION])
def test_the_limit_of_a_task_or_an_iteration_waits_for_what_there_is_to_ask(scope: Scope) -> None:
    binding = bound(None, scope)
    assert decide(Facts(open_tasks=1, binding=binding, tampering=Response.ESCALATE)).why == "tampering"
    assert decide(Facts(open_tasks=1, binding=binding, unpriced=True, conflict=True)).why == CONFLICT


def test_a_check_that_is_called_wrong_is_asked_about() -> None:
    decision = decide(Facts(open_tasks=1, conflict=True))
    assert (decision.move, decision.why) == (Move.ESCALATE, CONFLICT)


def test_tokens_without_a_price_under_a_cost_ceiling_park() -> None:
    assert decide(Facts(open_tasks=1, unpriced=True)).why == "unpriced"


@pytest.mark.parametrize(
    ("why", "code"),
    [
        ("budget:cost", ExitCode.BUDGET),
        ("unpriced", ExitCode.BUDGET),
        ("plateau:no_change", ExitCode.PLATEAU),
        ("operator", ExitCode.OPERATOR),
        ("error:disk", ExitCode.UNRECOVERABLE),
        ("request:3", ExitCode.REQUEST_OPEN),
    ],
)
def test_the_exit_code_follows_the_reason_and_is_never_success_without_done(why: str, code: ExitCode) -> None:
    for status in SessionStatus:
        expected = ExitCode.DONE if status is SessionStatus.DONE else code
        assert code_of(status, why) == expected
