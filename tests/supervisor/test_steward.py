"""The steward against a real journal and account; only the session around them is small."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness import PATIENCE
from proctor.contract.load import load
from proctor.doors.gateway.port import Admitted, Denied, Upstream, Wanted
from proctor.journal import events as ev
from proctor.journal.state import State
from proctor.journal.store import Fenced, Journal
from proctor.supervisor.account import Account
from proctor.supervisor.running import Running
from proctor.supervisor.session import Options, Session
from proctor.supervisor.steward import HELD_AT_MOST, SessionSteward
from proctor.supervisor.terms import Terms
from proctor.words import Api, CallEnd, Dimension, IterationEnd, RequestKind, SessionStatus, Source

CONTRACT = """\
goal: Ask a model
worker: {kind: claude, model: claude-sonnet-4-5, cheaper: {model: claude-haiku-4-5}}
budget:
  tokens: {limit: 10000, on_exhaustion: park}
  cost: {limit: $1, on_exhaustion: degrade, reserve: 50%}
progress: {checks: [{run: ["true"]}]}
sandbox: {hosts: [example.org]}
"""


@dataclass
class Process:
    """A worker's process, as far as freezing goes."""

    frozen: bool = False

    def freeze(self) -> None:
        self.frozen = True

    def thaw(self) -> None:
        self.frozen = False


@dataclass
class Worker:
    running: Process = field(default_factory=Process)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    (tmp_path / "proctor.yaml").write_text(CONTRACT)
    (tmp_path / "tasks.json").write_text('[{"id": 1, "task": "x"}]')
    contract = load(tmp_path)
    terms = Terms(contract, "")
    journal = Journal(tmp_path / "journal.db")
    started = ev.SessionStarted(session="s", workspace=str(tmp_path), goal="")
    intent = ev.IterationStarted(iteration=1, task=1, key="k")
    journal.append(
        started,
        ev.ContractLoaded(contract="", plan="", ceilings=terms.ceiling_facts()),
        ev.TasksLoaded(tasks=(ev.TaskFact(id=1, task="x"),)),
        intent,
    )
    made: Any = Session.__new__(Session)
    values = {
        "workspace": tmp_path, "terms": terms, "options": Options(), "journal": journal, "paused": False,
        "changed": asyncio.Event(), "resting": None, "lacking": None, "running": None, "wishes": [],
        "_said": set(), "_notices": set(),
        "account": Account({}, datetime.now(UTC), {}, time.monotonic),
    }  # fmt: skip
    for name, value in values.items():
        setattr(made, name, value)
    made.account.begin(None, gateway=True, agent=True)
    now = time.monotonic()
    made.running = Running(Worker(), None, 1, 1, None, asyncio.Event(), now, now)  # type: ignore[arg-type]
    made.notice = lambda *_: None
    yield made
    journal.close()


@pytest.fixture
async def steward(session: Session) -> SessionSteward:
    intent = session.state.intent
    assert intent is not None
    return SessionSteward(session, None, intent, (Upstream("anthropic", "http://x"),))  # type: ignore[arg-type]


def wanted(call: str, prefix: int = 100, most: int | None = 1000, model: str = "claude-sonnet-4-5") -> Wanted:
    return Wanted(call, Api.MESSAGES, model, prefix, most)


def answered(call: str, **fields: Any) -> ev.ModelCall:
    return ev.ModelCall(call=call, iteration=1, api=Api.MESSAGES, model="claude-sonnet-4-5", **fields)


def tokens(state: State) -> int:
    return state.used[Dimension.TOKENS].used


async def test_a_reservation_is_on_record_before_the_answer_and_its_settlement_before_the_end(
    session: Session, steward: SessionSteward
) -> None:
    admitted = await steward.admit(wanted("a"))
    assert isinstance(admitted, Admitted)
    assert admitted.durable is not None
    await admitted.durable
    assert session.state.calling["a"] == ev.ModelAsked(
        call="a", iteration=1, api=Api.MESSAGES, model="claude-sonnet-4-5", prefix=100, output=1000, micro=15_300
    )
    await steward.settle(answered("a", input=90, output=10))
    state = session.state
    assert (state.calling, tokens(state), state.used[Dimension.COST].used) == ({}, 100, 90 * 3 + 10 * 15)
    assert session.account.figures()[Dimension.TOKENS] == ev.Figure(100)


async def test_calls_in_flight_reserve_what_the_next_one_may_not_have(
    session: Session, steward: SessionSteward
) -> None:
    found = await asyncio.gather(*(steward.admit(wanted(str(n), 100, 3000)) for n in range(5)))
    lowered = [one.most_output for one in found if isinstance(one, Admitted)]
    assert lowered == [None, None, None]
    assert [isinstance(one, Denied) for one in found] == [False, False, False, True, True]
    reserved = sum(asked.prefix + asked.output for asked in session.state.calling.values())
    assert reserved <= 10_000


async def test_rows_that_come_while_others_are_written_are_written_together_and_nothing_waits_for_the_disk(
    session: Session, steward: SessionSteward
) -> None:
    written, disk, begun = [], threading.Event(), asyncio.Event()
    loop, commit = asyncio.get_running_loop(), session.journal.commit

    def slow(*rows: ev.Event) -> None:
        written.append(len(rows))
        loop.call_soon_threadsafe(begun.set)
        disk.wait(PATIENCE)
        commit(*rows)

    session.journal.commit = slow  # type: ignore[method-assign]
    found = [await steward.admit(wanted("0", 10, 100))]
    await begun.wait()
    found += [await steward.admit(wanted(str(n), 10, 100)) for n in range(1, 6)]
    assert session.state.calling == {}
    disk.set()
    await asyncio.gather(*(one.durable for one in found if isinstance(one, Admitted) and one.durable))
    assert written == [1, 5]
    assert len(session.state.calling) == 6


async def test_what_cannot_be_written_is_said_to_who_waits_for_it(session: Session, steward: SessionSteward) -> None:
    with Journal(session.journal.path):
        admitted = await steward.admit(wanted("a"))
        assert isinstance(admitted, Admitted)
        assert admitted.durable is not None
        with pytest.raises(Fenced):
            await admitted.durable
        with pytest.raises(Fenced):
            await steward.settle(answered("a", input=90, output=10))


async def test_a_call_that_failed_costs_nothing_and_gives_its_reservation_back(
    session: Session, steward: SessionSteward
) -> None:
    await steward.admit(wanted("a", 100, 9000))
    assert isinstance(await steward.admit(wanted("b", 100, 9000)), Denied)
    await steward.settle(answered("a", end=CallEnd.FAILED, status=400))
    session.lacking = None
    assert isinstance(await steward.admit(wanted("c", 100, 9000)), Admitted)
    assert Dimension.TOKENS not in session.state.used


@pytest.mark.parametrize(
    ("end", "hindered"),
    [
        ({"end": CallEnd.FAILED, "status": 503, "why": "overloaded"}, "overloaded"),
        ({"end": CallEnd.FAILED, "why": "it did not answer"}, "it did not answer"),
        ({"end": CallEnd.CUT, "status": 200, "why": "its answer broke off"}, "its answer broke off"),
        ({"end": CallEnd.FAILED, "status": 400, "why": "no such model"}, ""),
        ({"end": CallEnd.CUT, "status": 200}, ""),  # the worker went away
        ({"input": 10}, ""),
    ],
)
async def test_c7_a_worker_is_hindered_if_its_last_call_came_to_nothing_by_no_fault_of_its_own(
    session: Session, steward: SessionSteward, end: dict[str, Any], hindered: str
) -> None:
    await steward.settle(answered("a", end=CallEnd.FAILED, status=500, why="before"))
    assert session.hindered == "before"
    await steward.settle(answered("b", **end))
    assert session.hindered == hindered


async def test_what_is_refused_binds_until_the_ceiling_is_raised(session: Session, steward: SessionSteward) -> None:
    denied = await steward.admit(wanted("a", 9_500, 4000))
    assert isinstance(denied, Denied)
    assert denied.message == ("proctor: budget used up: 10k of 10k tokens left, the next call needs about 10.5k")
    bound = session.binding()
    assert bound is not None
    assert bound.dimension is Dimension.TOKENS
    session.append(ev.CeilingRaised(dimension=Dimension.TOKENS, by=10_000, limit=20_000))
    assert session.binding() is None


async def test_the_worker_s_end_waits_for_calls_in_flight_and_a_grace(session: Session) -> None:
    running = session.running
    assert running is not None

    class Gateway:
        in_flight = 1

    running.gateway = Gateway()  # type: ignore[assignment]
    session.end_soon(IterationEnd.BUDGET, "tokens")
    session.see_to_the_end()
    assert running.reason is None
    Gateway.in_flight = 0
    session.see_to_the_end()
    assert running.reason == (IterationEnd.BUDGET, "tokens")


async def test_the_cheaper_model_answers_for_the_dear_one_inside_the_reserve(
    session: Session, steward: SessionSteward
) -> None:
    session.append(ev.CeilingRaised(dimension=Dimension.TOKENS, by=10**9, limit=10**9))
    await steward.admit(wanted("a", 1000, 1000))
    await steward.settle(answered("a", input=190_000, output=30_000, source=Source.MEASURED))
    admitted = await steward.admit(wanted("b", 1000, 2000))
    assert isinstance(admitted, Admitted)
    assert admitted.model == "claude-haiku-4-5"
    assert session.state.degraded == "claude-haiku-4-5"
    assert admitted.durable is not None
    await admitted.durable
    assert session.state.calling["b"].model == "claude-haiku-4-5"


async def test_e1_a_provider_s_limit_makes_the_session_wait_and_stops_its_clock(
    session: Session, steward: SessionSteward
) -> None:
    session.work()
    steward.limited("anthropic", "429", time.time() + 60)
    state = session.state
    assert (state.status, state.why) == (SessionStatus.WAITING, "provider_limit")
    stood = session.account.active_ms
    assert session.account.active_ms == stood
    steward.unlimited("anthropic")
    assert session.state.status is SessionStatus.RUNNING
    assert session.state.limited is None


async def test_calls_are_held_while_a_request_waits_and_the_worker_is_named_and_at_last_started_afresh(
    session: Session, steward: SessionSteward
) -> None:
    assert steward.held() is None
    session.append(ev.RequestOpened(id=1, request=RequestKind.TOOL, what="shell x", iteration=1))
    assert steward.held() == "request 1 waits for an answer"
    session.settle_motion()
    assert session.running is not None
    assert session.running.worker.running.frozen
    steward.holding(2, time.time())
    assert (session.running.held_calls, session.running.reason) == (2, None)
    steward.holding(2, time.time() - HELD_AT_MOST)
    assert session.running.reason is not None
    assert session.running.reason[0] is IterationEnd.SUSPENDED
    assert session.running.suspended
    said = [row.event.text for row in session.journal.rows() if isinstance(row.event, ev.Logged)]
    assert said == ["this worker does not suspend: it asks the model while a request waits"]


async def test_a_host_that_was_granted_is_reachable_for_the_session(session: Session, steward: SessionSteward) -> None:
    asked = ev.RequestOpened(id=1, request=RequestKind.HOST, what="x", input={"host": "pypi.org", "port": 443})
    session.append(asked, ev.RequestClosed(id=1, outcome="granted", by="me"))  # type: ignore[arg-type]
    assert steward.rules().hosts == ("example.org", "pypi.org:443")


async def test_what_holds_for_the_session_is_told_once_however_many_workers_bring_it_about(
    session: Session, steward: SessionSteward
) -> None:
    assert session.state.intent is not None
    following = SessionSteward(session, None, session.state.intent, ())  # type: ignore[arg-type]
    for one in (steward, following):
        one.log_once("passed on, and not counted: HEAD /")
        one.log("of one worker")
    rows = [row.event.text for row in session.journal.rows() if isinstance(row.event, ev.Logged)]
    assert rows == ["passed on, and not counted: HEAD /", "of one worker", "of one worker"]
