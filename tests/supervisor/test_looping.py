"""A running worker's calls reach the rules, from the worker's own words or from the gateway, each once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from proctor.contract.model import Contract
from proctor.doors.gateway.providers.exchange import Exchange
from proctor.journal import events as ev
from proctor.supervisor.desk import Desk
from proctor.supervisor.listening import Listener
from proctor.supervisor.looping import MOST_OPEN
from proctor.supervisor.session import Session
from proctor.words import IterationEnd, Light, LoopRule
from proctor.worker.base import Result, Tool


class Stage:
    """A watch, and what it does to its session."""

    def __init__(self, kind: str = "command", **plateau: int) -> None:
        given: dict[str, Any] = {
            "goal": "g",
            "worker": {"kind": kind},
            "budget": {"iterations": {"limit": "3", "on_exhaustion": "park"}},
            "progress": {"plateau": {key: str(value) for key, value in plateau.items()}},
        }
        self.rows: list[ev.LoopSeen] = []
        self.ended: list[tuple[IterationEnd, str]] = []
        session = SimpleNamespace(
            terms=SimpleNamespace(contract=Contract.model_validate(given)),
            append=self.rows.append,
            end_worker=lambda how, detail: self.ended.append((how, detail)),
        )
        intent = ev.IterationStarted(iteration=4, task=1, key="k")
        self.watch = Listener(cast(Session, session), cast(Desk, None), intent).circles

    def call(self, path: str, output: str = "x", *, ok: bool = True, name: str = "") -> None:
        self.watch.called(Tool("read", {"path": path}, name))
        self.watch.came(Result(name, ok, output))


def test_a_circle_is_told_once_and_ends_the_iteration_with_its_reason() -> None:
    stage = Stage()
    for _ in range(9):
        stage.call("a.py")
    (row,) = stage.rows
    assert (row.iteration, row.task, row.rule, row.light, row.window) == (4, 1, LoopRule.SAME_CALL, Light.FIRING, 4)
    assert stage.ended == [(IterationEnd.LOOPING, "same_call: 4 times the same call with one result, read a.py")]


def test_a_warning_ends_nothing() -> None:
    stage = Stage()
    for n in range(3):
        stage.watch.called(Tool("shell", {"command": f"make {n}"}))
        stage.watch.came(Result("", False, "no rule"))
    assert [row.light for row in stage.rows] == [Light.SUSPECT]
    assert stage.ended == []


def test_calls_without_a_result_in_between_are_one_batch_whatever_order_their_results_come_in() -> None:
    stage = Stage()
    for name in "abcdef":
        stage.watch.called(Tool("read", {"path": "a.py"}, name))
    for name in "fbdace":
        stage.watch.came(Result(name, True, "x"))
    assert stage.rows == []
    for name in "ghi":
        stage.call("a.py", name=name)
    assert len(stage.rows) == 1


def test_a_worker_that_tells_no_results_and_results_that_nobody_asked_for_do_no_harm() -> None:
    stage = Stage()
    for _ in range(3 * MOST_OPEN):
        stage.watch.called(Tool("read", {"path": "a.py"}))
    stage.watch.came(Result("unknown", True, "x"))
    assert len(stage.watch._open) == MOST_OPEN
    assert stage.rows == []


def test_the_contract_switches_a_rule_off() -> None:
    stage = Stage(same_call=0, cycle=0)
    for _ in range(9):
        stage.call("a.py")
    assert stage.rows == []


def test_a_worker_that_says_nothing_is_seen_through_the_gateway_and_a_repeated_request_adds_nothing() -> None:
    stage = Stage()
    for turn in range(4):
        for _ in range(3):
            assert stage.rows == []
            stage.watch.exchanged([Exchange(f"call {turn}", "bash", {"command": "ls"}, "a.py")])
            stage.watch.answered()
            if turn == 3:
                break
    assert stage.rows[0].rule is LoopRule.SAME_CALL
    assert stage.rows[0].evidence[1] == "shell ls"


def test_what_a_known_agent_tells_is_not_looked_for_at_the_gateway() -> None:
    stage = Stage("claude")
    for turn in range(9):
        stage.watch.exchanged([Exchange(f"{turn}", "bash", {"command": "ls"}, "a.py")])
    assert stage.rows == []


@pytest.mark.parametrize("told", ["ls", "something else"])
def test_what_a_worker_tells_counts_not_twice_and_hides_nothing_that_the_gateway_sees(told: str) -> None:
    stage = Stage()
    for turn in range(3):
        stage.call(told)
        stage.watch.exchanged([Exchange(f"{turn}", "bash", {"command": "ls"}, "a.py")])
    assert stage.rows == []
    stage.watch.exchanged([Exchange("3", "bash", {"command": "ls"}, "a.py")])
    assert [row.rule for row in stage.rows] == [LoopRule.SAME_CALL]


def test_what_is_denied_again_and_again_in_the_same_words_is_no_error_of_the_worker() -> None:
    stage = Stage()
    for n in range(6):
        stage.watch.called(Tool("shell", {"command": f"make {n}"}))
        stage.watch.denied(f"{n}", f"shell make {n}")
        stage.watch.came(Result("", False, "the contract's rules deny this"))
        denied = Exchange(f"{n}", "bash", {"command": f"make {n}"}, "the contract's rules deny this", ok=False)
        stage.watch.exchanged([denied])
    assert stage.rows == []


def test_denials_of_one_request_warn_and_then_end_the_iteration() -> None:
    stage = Stage()
    for _ in range(3):
        stage.watch.denied("digest", "shell rm -rf /")
    assert [row.light for row in stage.rows] == [Light.SUSPECT, Light.FIRING]
    assert stage.ended == [(IterationEnd.LOOPING, "same_denial: 3 times denied the same, shell rm -rf /")]
