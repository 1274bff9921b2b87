"""What waits for the operator: opened here, answered by a rule, a flag or a person, each exactly once."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from proctor.approvals import requests
from proctor.approvals.rules import Decision as Ruling
from proctor.approvals.rules import Rules
from proctor.journal import events as ev
from proctor.journal.encoding import encode_json
from proctor.journal.state import RequestState
from proctor.supervisor.session import STILL, Session
from proctor.text import safe_line
from proctor.words import RequestKind, RequestOutcome
from proctor.worker.base import Ask

MOST_OPEN = 20
"""Questions that may wait at once; a worker that asks more is denied the rest."""
MOST_ROWS = 200
"""Questions of one iteration that are answered at once and become rows; later ones are only in the stream."""
LARGE = 40_000
"""Bytes of an input from which on its row counts for several."""
MOST_COUNTED = 10_000
"""Different denials that are counted beside their rows."""
SILENT_DENIALS = 2
"""How often the same may be denied in one task before the operator is asked, with what was said so far."""
RULE = "rule"
YES = "flag --yes"
PROCTOR = "proctor"
CONTRACT = "contract"
UNREAD = "the worker of iteration {} does not read its answers: some never reach it"
GIVEN_UP = "the worker does not wait for it any more"


@dataclass(frozen=True, slots=True)
class Answer:
    """What closes a request."""

    outcome: RequestOutcome
    by: str
    reason: str = ""
    input: dict[str, Any] | None = None
    kept: int = 0
    """The request whose answer this is, given again to the next worker that asks the same."""


class Asking:
    """The requests of one session."""

    def __init__(self, session: Session, rules: Rules) -> None:
        self._s = session
        self._rules = rules
        self._rows: Counter[int] = Counter()
        self._unwritten: Counter[str] = Counter()
        self._hosts: dict[int, asyncio.Future[bool]] = {}

    def ask(self, ask: Ask, iteration: int, task: ev.TaskId) -> None:
        """A worker asks: a rule answers, or the operator is asked and everything stands still."""
        is_shell = ask.tool == requests.SHELL
        where = requests.elsewhere(ask.input, str(self._s.workspace)) if is_shell else None
        beside = " ".join(requests.variables(ask.input)) if is_shell else ""
        opened = self.opened(
            RequestKind.TOOL,
            safe_line(f"{ask.tool} {self._argument(ask)}".strip(), 300),
            safe_line(" · ".join(filter(None, (beside and f"with {beside}", where and f"in {where}", ask.why))), 300),
            tool=ask.tool,
            input=ask.input,
            task=task,
            iteration=iteration,
            worker_id=ask.id,
            agent=safe_line(ask.agent, 100),
            changeable=ask.changeable,
        )
        self._open(opened)

    def _argument(self, ask: Ask) -> str:
        """What it is about, a path of the workspace relative to it."""
        return requests.argument(ask.tool, ask.input).removeprefix(f"{self._s.workspace}/")

    async def asks_host(self, host: str, port: int) -> bool:
        """Whether the running worker may reach a host: by rule, by what was granted before, or by the operator.

        Cancelled, it withdraws the question."""
        running = self._s.running
        if running is None:
            return False
        given = {"host": host, "port": port}
        if requests.hosts(given)[-1] in self._s.state.hosts:
            return True
        opened = self.opened(
            RequestKind.HOST,
            safe_line(f"host {requests.hosts(given)[-1]}", 300),
            tool=requests.HOST,
            input=given,
            task=running.task,
            iteration=running.iteration,
        )
        if self._s.state.request(opened.id) is None and (answer := self._open(opened)) is not None:
            return answer.outcome is RequestOutcome.GRANTED
        waiting = self._hosts.setdefault(opened.id, asyncio.get_running_loop().create_future())
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            if not waiting.done():
                self.close_request(opened, RequestOutcome.WITHDRAWN, PROCTOR, GIVEN_UP)
            raise

    def withdrawn(self, worker_id: str | None = None) -> None:
        """The running worker does not wait for this answer any more, or for none."""
        iteration = self._s.running.iteration if self._s.running else None
        for request in self._s.state.open_requests:
            opened = request.opened
            asked = (opened.request, opened.iteration) == (RequestKind.TOOL, iteration)
            if asked and worker_id in (None, opened.worker_id):
                self.close_request(opened, RequestOutcome.WITHDRAWN, "worker", GIVEN_UP)

    def opened(self, kind: RequestKind, what: str, why: str = "", **fields: Any) -> ev.RequestOpened:
        """A request with the next free id, not yet written; the one that waits already, if it is asked again."""
        if kind is not RequestKind.TOOL:
            for request in self._s.state.open_requests:
                if (request.opened.request, request.opened.what) == (kind, what):
                    return request.opened
        asked = ev.RequestOpened(id=self._s.state.next_request, request=kind, what=what, why=why, **fields)
        return replace(asked, digest=requests.digest(asked.tool, asked.input)) if asked.tool else asked

    async def wait_for(self, opened: ev.RequestOpened) -> RequestState:
        """Write a request that is not a worker's, unless it waits already, and wait for its answer."""
        if self._s.state.request(opened.id) is None:
            self._s.append(opened)
            if opened.request is RequestKind.LINKS and self._s.options.yes:
                self.close_request(opened, RequestOutcome.GRANTED, YES)
            else:
                self._s.notice(f"asks: {opened.what}", f"request:{opened.id}", "high")

        def closed() -> RequestState | None:
            request = self._s.state.request(opened.id)
            return request if request and request.outcome is not None else None

        await self._s.until(lambda: closed() is not None)
        answer = closed()
        assert answer is not None
        return answer

    def expire(self) -> None:
        """Deny what waited longer than the contract lets it."""
        limit = self._s.terms.contract.approvals.expire
        if limit is None:
            return
        now = datetime.now(UTC)
        for request in self._s.state.open_requests:
            if request.opened.request in STILL and (now - request.at).total_seconds() * 1000 > limit:
                self.close_request(request.opened, RequestOutcome.EXPIRED, CONTRACT, "nobody answered in time")

    def withdraw(self, why: str, *kinds: RequestKind) -> None:
        """Close what nobody waits for any more: requests of these kinds, or all."""
        for request in self._s.state.open_requests:
            if not kinds or request.opened.request in kinds:
                self.close_request(request.opened, RequestOutcome.WITHDRAWN, PROCTOR, why)

    def close_request(
        self,
        opened: ev.RequestOpened,
        outcome: RequestOutcome,
        by: str,
        reason: str = "",
        changed: dict[str, Any] | None = None,
        *,
        kept: int = 0,
    ) -> bool:
        """Write an answer and pass it on; False if the worker that asked is gone, and the next one will get it. `kept`
        is the request whose answer it is."""
        told = opened.request is not RequestKind.TOOL or outcome is RequestOutcome.WITHDRAWN or self._waits(opened)
        row = ev.RequestClosed(id=opened.id, outcome=outcome, by=by, reason=reason, input=changed, told=told, kept=kept)
        self._s.append(row)
        self._tell(opened, Answer(outcome, by, reason, changed))
        self._s.settle_motion()
        return told

    # --- answers at once ------------------------------------------------------------------------

    def _open(self, opened: ev.RequestOpened) -> Answer | None:
        """Answer what a worker asks, or leave it to the operator (None)."""
        answer = self._at_once(opened)
        if isinstance(answer, str):
            opened = replace(opened, why=" · ".join(filter(None, (answer, opened.why))))
            self._s.append(opened)
            self._s.settle_motion()
            self._s.notice(f"asks: {opened.what}", f"request:{opened.id}", "high")
            return None
        self._rows[opened.iteration] += 1 + len(encode_json(opened.input)) // LARGE
        if self._rows[opened.iteration] > MOST_ROWS and not answer.kept:
            if answer.outcome is RequestOutcome.DENIED and len(self._unwritten) < MOST_COUNTED:
                self._unwritten[opened.digest] += 1
            self._tell(opened, answer)
        elif opened.request is RequestKind.TOOL and answer == Answer(RequestOutcome.GRANTED, RULE):
            self._s.append(replace(opened, granted=RULE))
            self._tell(opened, answer)
        else:
            self._s.append(opened)
            self.close_request(opened, answer.outcome, answer.by, answer.reason, answer.input, kept=answer.kept)
        return answer

    def _at_once(self, opened: ev.RequestOpened) -> Answer | str:
        """The answer that needs nobody; else why the operator is asked, empty where that is plain."""
        if len(self._s.state.open_requests) >= MOST_OPEN:
            return Answer(RequestOutcome.DENIED, PROCTOR, "too many questions wait already")
        mine = [one for one in self._s.state.requests if one.opened.task == opened.task]
        if (kept := self._kept(opened, mine)) is not None:
            assert kept.outcome is not None
            return Answer(kept.outcome, f"answer to request {kept.id}", kept.reason, kept.input, kept.id)
        ruling = self._rules.decide(opened.tool, opened.input)
        if ruling is Ruling.ALLOW:
            return Answer(RequestOutcome.GRANTED, RULE)
        denied = requests.alike(requests.denials(mine), opened.digest)
        times = len(denied) + self._unwritten[opened.digest]
        if times >= SILENT_DENIALS:
            own = sum(one.by not in (RULE, PROCTOR, CONTRACT, YES) for one in denied)
            return f"denied {times} times already{f', {own} of them by you' if own else ''}; it is asked again"
        if ruling is Ruling.DENY:
            again = "; asked once more, it waits for the operator" if times else ""
            return Answer(RequestOutcome.DENIED, RULE, f"the contract's rules deny this{again}")
        return Answer(RequestOutcome.GRANTED, YES) if self._s.options.yes else ""

    def _kept(self, opened: ev.RequestOpened, mine: list[RequestState]) -> RequestState | None:
        """An answer that came too late for the worker that asked, and that nobody was given yet."""
        same = requests.alike((one for one in mine if not one.told), opened.digest)
        return same[-1] if same else None

    def _waits(self, opened: ev.RequestOpened) -> bool:
        """Whether the worker that asked is still there."""
        running = self._s.running
        return running is not None and running.iteration == opened.iteration and not running.over.is_set()

    def _tell(self, opened: ev.RequestOpened, answer: Answer) -> None:
        """Pass an answer on to whoever waits for it."""
        granted = answer.outcome is RequestOutcome.GRANTED
        if (host := self._hosts.pop(opened.id, None)) is not None and not host.done():
            host.set_result(granted)
        withdrawn = answer.outcome is RequestOutcome.WITHDRAWN
        if opened.request is RequestKind.TOOL and not withdrawn and self._waits(opened):
            assert self._s.running is not None
            given = opened.input if answer.input is None else answer.input
            if not self._s.running.worker.answer(opened.worker_id, granted, answer.reason, given):
                self._s.log_once("worker", UNREAD.format(opened.iteration))
        running = self._s.running
        if answer.outcome is RequestOutcome.DENIED and running and running.circles and self._waits(opened):
            running.circles.denied(opened.digest, opened.what)
