"""Requests on a real journal, for a worker that only notes what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from proctor.approvals.rules import Rules
from proctor.journal import events as ev
from proctor.journal import state as state_of
from proctor.journal.encoding import encode_json
from proctor.journal.state import RequestState, State
from proctor.journal.store import Journal, journal_path
from proctor.supervisor import asking
from proctor.supervisor.desk import Desk, Refused
from proctor.supervisor.inbox import Order, new_order
from proctor.supervisor.session import Options
from proctor.words import RequestKind, RequestOutcome
from proctor.worker.base import Ask

RULES = Rules(allow=["shell(ls *)", "host(pypi.org)"], deny=["shell(rm *)", "host(*.internal)"])


class Stage:
    """What a desk sees of a session, and what comes of it."""

    def __init__(self, path: Path, yes: bool = False, expire: int | None = None) -> None:
        path.mkdir(exist_ok=True)
        self.workspace = path
        self.journal = Journal(journal_path(path))
        self.options = Options(yes=yes)
        self.terms = SimpleNamespace(contract=SimpleNamespace(approvals=SimpleNamespace(expire=expire)))
        self.notices: list[str] = []
        self.told: list[tuple[str, bool, str, dict[str, Any] | None]] = []
        self.running: Any = None
        self.deaf = False
        self.changed = asyncio.Event()
        self.paused = False
        self.worker(1)
        self.desk = Desk(self, RULES)  # type: ignore[arg-type]

    def worker(self, iteration: int, task: int = 1) -> None:
        """Another worker runs."""

        def answer(*answer: Any) -> bool:
            self.told.append(answer)
            return not self.deaf

        worker = SimpleNamespace(answer=answer)
        self.denied: list[tuple[str, str]] = []
        circles = SimpleNamespace(denied=lambda *denial: self.denied.append(denial))
        over = asyncio.Event()
        self.running = SimpleNamespace(iteration=iteration, task=task, over=over, worker=worker, circles=circles)

    @property
    def state(self) -> State:
        return self.journal.state()

    def append(self, *events: ev.Event) -> State:
        return self.journal.append(*events)

    def notice(self, text: str, why: str, urgency: str = "normal") -> None:
        self.notices.append(text)

    def log_once(self, room: str, text: str) -> None:
        self.notices.append(text)

    def settle_motion(self) -> None:
        """Nothing moves here."""

    def ask(self, command: str, worker_id: str = "q", **more: Any) -> RequestState:
        """A worker asks; the request that came of it."""
        asked = Ask(worker_id, "shell", {"command": command, "description": f"say {len(self.told)}"}, **more)
        self.desk.ask(asked, self.running.iteration, self.running.task)
        return self.state.requests[-1]

    def closed(self) -> list[ev.RequestClosed]:
        """The answers on record."""
        rows = self.journal.rows(kinds=("request_closed",))
        return [row.event for row in rows if isinstance(row.event, ev.RequestClosed)]

    def order(self, verb: str, **args: Any) -> str:
        """An order of the operator's, and the answer."""
        self.desk._obey(new_order(verb, "", None, "operator", args))
        taken = [row.event for row in self.journal.rows(kinds=("order_taken",))]
        assert isinstance(taken[-1], ev.OrderTaken)
        return f"{taken[-1].outcome}: {taken[-1].detail}"

    def close(self, order: Order) -> None:
        """Orders of this test are no files."""


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Stage]]:
    monkeypatch.setattr("proctor.supervisor.inbox.pending", lambda _: [])
    monkeypatch.setattr(Stage, "state_dir", tmp_path, raising=False)
    stages: list[Stage] = []
    yield stages
    for stage in stages:
        stage.journal.close()


@pytest.fixture
def stage(made: list[Stage], tmp_path: Path) -> Stage:
    made.append(Stage(tmp_path / "s"))
    return made[-1]


async def test_a_rule_answers_at_once_and_on_record(stage: Stage) -> None:
    assert stage.ask("rm x").outcome is RequestOutcome.DENIED
    stage.ask("ls x")
    assert [answer[:2] for answer in stage.told] == [("q", False), ("q", True)]
    assert [one.by for one in stage.state.requests] == ["rule"]
    rows = [row.event for row in stage.journal.rows(kinds=("request_opened",))]
    assert [(row.id, row.granted) for row in rows if isinstance(row, ev.RequestOpened)] == [(1, ""), (2, "rule")]
    assert stage.state.next_request == 3
    assert stage.notices == []


async def test_what_no_rule_covers_waits_with_all_that_the_operator_needs(stage: Stage) -> None:
    asked = stage.ask("make all", why="to build\x1b[31m", agent="helper-1")
    assert asked.outcome is None
    assert (asked.opened.what, asked.opened.agent) == ("shell make all", "helper-1")
    assert "\x1b" not in asked.opened.why
    assert stage.notices == ["asks: shell make all"]
    assert stage.told == []


async def test_an_answer_is_given_once_and_later_ones_are_told_so(stage: Stage) -> None:
    asked = stage.ask("make")
    assert stage.order("deny", id=asked.id, reason="use x") == f"done: request {asked.id} denied"
    assert stage.order("approve", id=asked.id) == f"lost: request {asked.id} was already denied by operator"
    assert [answer[:3] for answer in stage.told] == [("q", False, "use x")]


async def test_another_input_is_granted_on_record(stage: Stage) -> None:
    asked = stage.ask("make all")
    changed = {"command": "make one"}
    assert stage.order("approve", id=asked.id, input=changed) == f"done: request {asked.id} granted with another input"
    assert stage.told[0][3] == changed
    assert [(one.id, one.input) for one in stage.closed()] == [(asked.id, changed)]
    same = stage.ask("make all")
    assert stage.order("approve", id=same.id, input=dict(same.opened.input)) == f"done: request {same.id} granted"
    assert stage.closed()[-1].input is None


def deep(levels: int) -> dict[str, Any]:
    return {"command": deep(levels - 1)} if levels else {}


@pytest.mark.parametrize(
    ("verb", "given", "more", "said"),
    [
        ("approve", {"command": "x" * 2_000_000}, {}, "too large, too deep, or no text"),
        ("approve", deep(500), {}, "too large, too deep, or no text"),
        ("approve", {"command": "\ud800"}, {}, "too large, too deep, or no text"),
        ("approve", {"command": "x"}, {"changeable": False}, "takes no other input"),
        ("deny", {"command": "x"}, {}, "only a tool request can be granted with another input"),
        ("approve", "x", {}, "an input is a JSON object"),
    ],
)
async def test_an_input_that_cannot_be_granted_is_refused_and_nothing_is_lost(
    stage: Stage, verb: str, given: object, more: dict[str, Any], said: str
) -> None:
    asked = stage.ask("make", **more)
    answer = stage.order(verb, id=asked.id, input=given)
    assert answer.startswith("refused: ")
    assert said in answer
    assert stage.state.open_requests == (asked,)
    assert stage.order("approve", id=asked.id).startswith("done")


async def test_another_input_may_say_anything_and_is_told_as_it_was_granted(stage: Stage) -> None:
    asked = stage.ask("make")
    changed = {"command": "\x1b[2J\0; rm -rf /", "": [None, {"x" * 1_000: 2**70}], "proctor": "ask"}
    assert stage.order("approve", id=asked.id, input=changed).startswith("done: ")
    assert stage.told[0][3] == changed
    assert stage.closed()[0].input == changed
    assert "\x1b" not in "".join(stage.notices)


async def test_the_third_try_of_what_a_rule_denied_twice_waits_for_the_operator(stage: Stage) -> None:
    assert "asked once more, it waits" not in (first := stage.ask("rm x")).reason
    assert first.outcome is RequestOutcome.DENIED
    stage.worker(2)
    second = stage.ask("rm x")
    assert second.outcome is RequestOutcome.DENIED
    assert "asked once more, it waits" in second.reason
    assert stage.ask("rm y").outcome is RequestOutcome.DENIED
    third = stage.ask("rm x")
    assert third.outcome is None
    assert third.opened.why == "denied 2 times already; it is asked again"
    stage.order("withdraw", id=third.id)
    stage.worker(3, task=2)
    assert stage.ask("rm x").outcome is RequestOutcome.DENIED


async def test_what_sub_agents_ask_counts_with_the_rest_and_is_answered_one_by_one(stage: Stage) -> None:
    for agent in ("", "helper-1"):
        assert stage.ask("rm x", agent=agent).outcome is RequestOutcome.DENIED
    third = stage.ask("rm x", "h", agent="helper-2")
    assert (third.outcome, third.opened.agent) == (None, "helper-2")
    other = stage.ask("rm x", "i", agent="helper-3")
    stage.order("approve", id=third.id)
    assert stage.told[-1][:2] == ("h", True)
    assert stage.state.open_requests == (other,)
    stage.desk.withdrawn("i")
    assert len(stage.told) == 3


async def test_what_the_operator_denied_twice_is_asked_with_that_in_view_even_under_yes(
    made: list[Stage], tmp_path: Path
) -> None:
    stage = Stage(tmp_path / "s")
    made.append(stage)
    for _ in range(2):
        stage.order("deny", id=stage.ask("make").id)
    assert (
        stage.ask("make", why="again").opened.why
        == "denied 2 times already, 2 of them by you; it is asked again · again"
    )
    stage.options = Options(yes=True)
    assert stage.ask("make").outcome is None
    assert stage.ask("make other").outcome is RequestOutcome.GRANTED
    assert stage.state.requests[-1].by == "flag --yes"


async def test_denials_beyond_the_rows_of_an_iteration_still_count(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "MOST_ROWS", 2)
    for number in range(3):
        stage.ask(f"rm {number}")
    assert len(stage.state.requests) == 2
    assert len(stage.told) == 3
    stage.ask("rm 2")
    assert stage.ask("rm 2").outcome is None


async def test_large_questions_use_up_the_rows_of_an_iteration_sooner(stage: Stage) -> None:
    for number in range(12):
        stage.ask(f"rm {number} {'x' * 20 * asking.LARGE}")
    assert len(stage.state.requests) == 9
    assert len(stage.told) == 12


async def test_what_the_state_keeps_of_answered_questions_is_bounded(
    made: list[Stage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_of, "MOST_ANSWERED", 5)
    stage = Stage(tmp_path / "s", yes=True)
    made.append(stage)
    first = stage.ask("rm first")
    for number in range(12):
        stage.ask(f"make {number} {'x' * 20_000}")
        stage.ask(f"rm {number} {'x' * 20_000}")
    assert len(stage.state.requests) == 10
    assert len(encode_json(stage.state)) < 20_000
    assert stage.order("deny", id=first.id) == f"lost: request {first.id} was already answered"
    assert stage.order("deny", id=1_000) == "refused: no request 1000"
    stage.ask("rm 11 " + "x" * 20_000)
    assert stage.ask("rm 11 " + "x" * 20_000).outcome is None


async def test_an_answer_that_was_kept_is_given_once_also_beyond_the_rows_of_an_iteration(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = stage.ask("make")
    stage.running.over.set()
    stage.order("approve", id=asked.id)
    stage.worker(2)
    monkeypatch.setattr(asking, "MOST_ROWS", 0)
    assert stage.ask("make").by == f"answer to request {asked.id}"
    assert stage.ask("make").outcome is None


async def test_an_answer_that_a_worker_does_not_take_is_on_record(stage: Stage) -> None:
    stage.deaf = True
    stage.ask("rm x")
    assert stage.notices == ["the worker of iteration 1 does not read its answers: some never reach it"]


async def test_more_questions_than_anyone_reads_are_denied(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MOST_OPEN", 2)
    for number in range(3):
        stage.ask(f"make {number}")
    assert [one.outcome for one in stage.state.requests] == [None, None, RequestOutcome.DENIED]
    assert stage.told == [
        ("q", False, "too many questions wait already", {"command": "make 2", "description": "say 0"})
    ]


async def test_what_nobody_answers_in_time_is_denied_to_the_worker(made: list[Stage], tmp_path: Path) -> None:
    stage = Stage(tmp_path / "s", expire=60_000)
    made.append(stage)
    asked = stage.ask("make")
    stage.desk.expire()
    assert stage.state.open_requests
    stage.terms.contract.approvals.expire = -1
    stage.desk.expire()
    assert stage.state.requests[0].outcome is RequestOutcome.EXPIRED
    assert stage.told[0][:3] == ("q", False, "nobody answered in time")
    assert stage.order("approve", id=asked.id) == f"lost: request {asked.id} was already expired by contract"
    assert asked.at + timedelta(0) == stage.state.requests[0].at


async def test_a_question_that_the_worker_takes_back_is_withdrawn(stage: Stage) -> None:
    asked, other = stage.ask("make", "a"), stage.ask("make", "b")
    stage.desk.withdrawn("a")
    assert stage.state.request(asked.id).outcome is RequestOutcome.WITHDRAWN  # type: ignore[union-attr]
    assert stage.state.open_requests == (other,)
    assert stage.told == []
    assert stage.order("approve", id=asked.id).startswith("lost: ")
    stage.worker(2)
    stage.ask("make", "c")
    stage.desk.withdrawn()
    assert stage.state.open_requests == (other,)


@pytest.mark.parametrize(("verb", "outcome"), [("approve", RequestOutcome.GRANTED), ("deny", RequestOutcome.DENIED)])
async def test_an_answer_to_a_worker_that_is_gone_is_kept_for_the_next_and_used_once(
    stage: Stage, verb: str, outcome: RequestOutcome
) -> None:
    asked = stage.ask("make")
    stage.running.over.set()
    assert "kept for the next one that asks the same" in stage.order(verb, id=asked.id, reason="as I said")
    assert stage.told == []
    stage.worker(2)
    assert stage.ask("make other").outcome is None
    again = stage.ask("make")
    assert (again.outcome, again.by, again.reason) == (outcome, f"answer to request {asked.id}", "as I said")
    assert stage.told[0][:3] == ("q", outcome is RequestOutcome.GRANTED, "as I said")
    assert stage.ask("make").outcome is None


async def test_kept_answers_and_denials_outlive_a_supervisor(made: list[Stage], tmp_path: Path) -> None:
    stage = Stage(tmp_path / "s")
    asked = stage.ask("make")
    stage.running = None
    stage.order("approve", id=asked.id, input={"command": "make one"})
    stage.worker(1)
    stage.ask("rm x")
    stage.ask("rm x")
    stage.journal.close()
    after = Stage(tmp_path / "s")
    made.append(after)
    after.worker(2)
    again = after.ask("make")
    assert (after.closed()[-1].id, after.closed()[-1].input) == (again.id, {"command": "make one"})
    assert after.told[0][3] == {"command": "make one"}
    assert after.ask("rm x").outcome is None


# --- hosts ---------------------------------------------------------------------------------------


async def begun(stage: Stage, host: str = "example.org", port: int = 443) -> tuple[asyncio.Task[bool], RequestState]:
    asked = asyncio.create_task(stage.desk.asks_host(host, port))
    await asyncio.sleep(0)
    return asked, stage.state.requests[-1]


async def test_a_host_is_ruled_asked_and_remembered_for_the_session(stage: Stage) -> None:
    assert await stage.desk.asks_host("pypi.org", 443)
    assert not await stage.desk.asks_host("a.internal", 443)
    waiting, request = await begun(stage)
    assert request.opened.request is RequestKind.HOST
    assert (request.opened.what, request.opened.input) == ("host example.org:443", {"host": "example.org", "port": 443})
    also = asyncio.create_task(stage.desk.asks_host("example.org", 443))
    await asyncio.sleep(0)
    assert len(stage.state.open_requests) == 1
    assert stage.order("approve", id=request.id) == f"done: request {request.id} granted"
    assert await waiting
    assert await also
    rows = stage.state.seq
    assert await stage.desk.asks_host("EXAMPLE.org", 443)
    assert stage.state.seq == rows
    assert stage.state.hosts == ("pypi.org:443", "example.org:443")


async def test_a_host_is_denied_by_the_operator_by_time_and_by_the_end(stage: Stage) -> None:
    for verb in ("deny", "expire", "withdraw"):
        waiting, request = await begun(stage, f"{verb}.org")
        if verb == "deny":
            stage.order("deny", id=request.id)
        elif verb == "expire":
            stage.terms.contract.approvals.expire = -1
            stage.desk.expire()
        else:
            stage.desk.withdraw("the worker is gone", RequestKind.HOST)
        assert not await waiting
    assert stage.state.hosts == ()
    stage.running = None
    assert not await stage.desk.asks_host("example.org", 443)


async def test_a_host_that_nobody_waits_for_any_more_is_withdrawn(stage: Stage) -> None:
    waiting, request = await begun(stage)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert stage.state.request(request.id).outcome is RequestOutcome.WITHDRAWN  # type: ignore[union-attr]
    with pytest.raises(Refused, match="already withdrawn"):
        stage.desk._find(new_order("approve", "", None, "operator", {"id": request.id}))


async def test_the_flag_grants_hosts_but_nothing_that_is_the_operators_own(made: list[Stage], tmp_path: Path) -> None:
    stage = Stage(tmp_path / "s", yes=True)
    made.append(stage)
    assert await stage.desk.asks_host("example.org", 443)
    assert stage.state.requests[-1].by == "flag --yes"
    assert not await stage.desk.asks_host("a.internal", 443)
