"""The operator's desk: orders are taken in here, requests are opened and answered here, each exactly once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from proctor.approvals.rules import Decision as Ruling
from proctor.approvals.rules import Rules
from proctor.checkpoint import history
from proctor.errors import ProctorError
from proctor.journal import events as ev
from proctor.journal.state import RequestState
from proctor.supervisor import handles, inbox, sweeping
from proctor.supervisor.inbox import Order
from proctor.supervisor.session import Session
from proctor.text import safe_line
from proctor.units import format_amount, parse_amount, parse_dimension
from proctor.words import CheckpointKind, Dimension, RequestKind, RequestOutcome
from proctor.worker.base import Ask, argument_of

EXTENSION_SHARE = 4
"""An extension that names no amount is a quarter of the ceiling."""
MOST_OPEN = 20
"""Questions that may wait at once; a worker that asks more is denied the rest."""
MOST_RULED = 200
"""Questions of one iteration that a rule answers and that become rows; later ones are only in the stream."""
SILENT_DENIALS = 2
"""How often a rule may deny the same thing before the operator is asked."""


class Refused(Exception):
    """The order cannot be done; the text says why."""


class Desk:
    """Takes orders and holds requests for one session."""

    def __init__(self, session: Session, rules: Rules) -> None:
        self._s = session
        self._rules = rules
        self._accepted: set[str] = set()
        self._chores: list[Order] = []
        self._denied: dict[tuple[int, str, str], int] = {}
        self._ruled: dict[int, int] = {}
        self._verbs: dict[str, Callable[[Order], str | None]] = {
            "pause": self._pause,
            "resume": self._resume,
            "note": self._note,
            "approve": lambda order: self._answer(order, RequestOutcome.GRANTED),
            "deny": lambda order: self._answer(order, RequestOutcome.DENIED),
            "extend": self._extend,
            "checkpoint": self._chore,
            "prune": self._chore,
            "rollback": self._chore,
            "undo": self._interrupting,
            "park": self._interrupting,
            "stop": self._interrupting,
            "fresh": self._interrupting,
        }

    # --- orders -------------------------------------------------------------------------------

    def take_orders(self) -> None:
        """Read the inbox; answer at once what can be answered at once."""
        for path, order in inbox.pending(self._s.state_dir):
            if order is None:
                self._s.log("inbox", f"{path.name}: not an order; set aside")
                path.rename(path.with_name(f".bad-{path.name}"))
            elif order.id in self._accepted:
                continue
            elif self._stale(order):
                self.close(order, "expired", "meant for another session or an earlier supervisor")
            else:
                self._accepted.add(order.id)
                self._obey(order)

    def _stale(self, order: Order) -> bool:
        if order.session != self._s.state.session:
            return True
        return order.verb not in inbox.MAY_WAIT and order.supervisor != self._s.journal.token

    def _obey(self, order: Order) -> None:
        verb = self._verbs.get(order.verb)
        if verb is None:
            return self.close(order, "refused", f"no such order: {order.verb}")
        try:
            detail = verb(order)
        except Refused as error:
            return self.close(order, "lost" if isinstance(error, Lost) else "refused", str(error))
        if detail is not None:
            self.close(order, "done", detail)
        return None

    def close(self, order: Order, outcome: str, detail: str = "") -> None:
        """The answer to an order is a row; only then does its file go."""
        answer = ev.OrderTaken(order=order.id, verb=order.verb, outcome=outcome, detail=detail, by=order.by)
        self._s.append(answer)
        for path, left in inbox.pending(self._s.state_dir):
            if left is not None and left.id == order.id:
                path.unlink(missing_ok=True)

    async def do_chores(self) -> None:
        """Orders that need a moment of stillness and no end: checkpoints."""
        while self._chores:
            order = self._chores.pop(0)
            works = {"checkpoint": self._checkpoint, "prune": self._prune, "rollback": self._look_back}
            await self._still(works[order.verb](order))

    async def _still(self, work: Awaitable[None]) -> None:
        """Do something while the worker is frozen."""
        running = self._s.running
        if running is not None and not running.worker.running.frozen:
            running.worker.running.freeze()
        try:
            await work
        finally:
            self._s.settle_motion()

    async def _checkpoint(self, order: Order) -> None:
        try:
            note, name = (str(order.args.get(key, "")) for key in ("note", "name"))
            taken = await self._s.timeline.checkpoint(CheckpointKind.ASKED, safe_line(note), name, at_once=True)
        except ProctorError as error:
            return self.close(order, "refused", str(error))
        return self.close(order, "done", handles.described(taken))

    async def _prune(self, order: Order) -> None:
        try:
            swept = await self._s.sweeper.sweep(int(order.args["keep"]), sweeping.OPERATOR, free=False)
        except (ProctorError, KeyError, ValueError) as error:
            return self.close(order, "refused", str(error))
        later = "; the space comes free when the session ends" if swept.gone else ""
        return self.close(order, "done", f"{swept.describe()}{later}")

    async def _look_back(self, order: Order) -> None:
        """A rollback that would change nothing is refused before the worker is ended for it."""
        try:
            handles.good(self._s.state, order.args.get("to"))
            paths = tuple(order.args.get("paths") or ())
            if await self._s.timeline.takes_back(order.args.get("to"), paths):
                return self._s.interrupt(order)
        except ProctorError as error:
            return self.close(order, "refused", str(error))
        target = handles.good(self._s.state, order.args.get("to")).id
        return self.close(order, "refused", handles.nothing_to_take(target, paths))

    def _chore(self, order: Order) -> None:
        self._chores.append(order)

    def _pause(self, _: Order) -> str:
        if self._s.paused:
            return "already paused"
        self._s.paused = True
        self._s.settle_motion()
        return "paused; the worker is frozen" if self._s.running else "paused; no worker is running"

    def _resume(self, order: Order) -> str:
        waiting = [r for r in self._s.state.open_requests if r.opened.request is RequestKind.PLATEAU]
        for request in waiting:
            self._close_request(request.opened, RequestOutcome.GRANTED, order.by)
        if order.args.get("reset_plateau") and not waiting:
            self._s.append(ev.PlateauReset(by=order.by))
        if not (self._s.paused or waiting):
            return "not paused"
        self._s.paused = False
        self._s.settle_motion()
        self._s.changed.set()
        return "resumed"

    def _note(self, order: Order) -> str:
        text = str(order.args.get("text", "")).strip()
        if not text:
            raise Refused("an empty note")
        self._s.append(ev.Noted(text=text[:8000]))
        return "in the next brief"

    def _interrupting(self, order: Order) -> None:
        state = self._s.state
        if order.verb == "undo":
            stack = history.stack_from(state.rollbacks)
            redo = bool(order.args.get("redo"))
            if (stack.redo_target if redo else stack.undo_target) is None:
                raise Refused(handles.nothing_to(state, redo))
        self._s.interrupt(order)

    # --- requests -----------------------------------------------------------------------------

    def ask(self, ask: Ask, iteration: int, task: ev.TaskId) -> None:
        """A worker asks: a rule answers, or the operator is asked and everything stands still."""
        argument = argument_of(ask.input)
        what = safe_line(f"{ask.tool} {argument}".strip(), 300)
        opened = self.opened(
            RequestKind.TOOL,
            what,
            safe_line(ask.why, 300),
            tool=ask.tool,
            input=ask.input,
            task=task,
            iteration=iteration,
            worker_id=ask.id,
        )
        if len(self._s.state.open_requests) >= MOST_OPEN:
            self._s.append(opened)
            return self._close_request(opened, RequestOutcome.DENIED, "proctor", "too many questions wait already")
        ruling = self._rules.decide(ask.tool, argument)
        by = "rule"
        if ruling is Ruling.ASK and self._s.options.yes:
            ruling, by = Ruling.ALLOW, "flag --yes"
        elif ruling is Ruling.DENY:
            key = (iteration, ask.tool, argument)
            self._denied[key] = self._denied.get(key, 0) + 1
            if self._denied[key] > SILENT_DENIALS:
                ruling = Ruling.ASK
        if ruling is Ruling.ASK:
            self._s.append(opened)
            self._s.settle_motion()
            return self._s.notice(f"asks: {what}", f"request:{opened.id}", "high")
        granted = ruling is Ruling.ALLOW
        outcome = RequestOutcome.GRANTED if granted else RequestOutcome.DENIED
        reason = "" if granted else "the contract's rules deny this"
        self._ruled[iteration] = self._ruled.get(iteration, 0) + 1
        if self._ruled[iteration] > MOST_RULED:
            return self._tell(opened, outcome, reason)
        self._s.append(opened)
        return self._close_request(opened, outcome, by, reason)

    def opened(self, kind: RequestKind, what: str, why: str = "", **fields: Any) -> ev.RequestOpened:
        """A request with the next free id, not yet written; the one that waits already, if the loop asks again."""
        if kind is not RequestKind.TOOL:
            for request in self._s.state.open_requests:
                if (request.opened.request, request.opened.what) == (kind, what):
                    return request.opened
        return ev.RequestOpened(id=self._s.state.next_request, request=kind, what=what, why=why, **fields)

    async def wait_for(self, opened: ev.RequestOpened) -> RequestState:
        """Write a request that is not a worker's, unless it waits already, and wait for its answer."""
        if self._s.state.request(opened.id) is None:
            self._s.append(opened)
            if opened.request is RequestKind.LINKS and self._s.options.yes:
                self._close_request(opened, RequestOutcome.GRANTED, "flag --yes")
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
            if request.opened.request is RequestKind.TOOL and (now - request.at).total_seconds() * 1000 > limit:
                self._close_request(request.opened, RequestOutcome.EXPIRED, "contract", "nobody answered in time")

    def withdraw(self, why: str, *kinds: RequestKind) -> None:
        """Close what nobody waits for any more: requests of these kinds, or all."""
        for request in self._s.state.open_requests:
            if not kinds or request.opened.request in kinds:
                self._close_request(request.opened, RequestOutcome.WITHDRAWN, "proctor", why)

    def _close_request(self, opened: ev.RequestOpened, outcome: RequestOutcome, by: str, reason: str = "") -> None:
        self._s.append(ev.RequestClosed(id=opened.id, outcome=outcome, by=by, reason=reason))
        self._tell(opened, outcome, reason)
        self._s.settle_motion()

    def _tell(self, opened: ev.RequestOpened, outcome: RequestOutcome, reason: str) -> None:
        """Give the worker that asked its answer, if it is still there."""
        running = self._s.running
        if running and opened.request is RequestKind.TOOL and running.iteration == opened.iteration:
            running.worker.answer(opened.worker_id, outcome is RequestOutcome.GRANTED, reason, opened.input)

    def _answer(self, order: Order, outcome: RequestOutcome) -> str:
        request = self._find(order)
        reason = safe_line(str(order.args.get("reason") or ""), 2000)
        if request.opened.request is RequestKind.EXTENSION and outcome is RequestOutcome.GRANTED:
            assert request.opened.dimension is not None
            return self._raise(order, request.opened.dimension, order.args.get("by"))
        opened = request.opened
        changed = order.args.get("input")
        if isinstance(changed, dict):
            opened = ev.RequestOpened(
                id=opened.id,
                request=opened.request,
                what=opened.what,
                input=changed,
                iteration=opened.iteration,
                worker_id=opened.worker_id,
            )
        self._close_request(opened, outcome, order.by, reason)
        return f"request {opened.id} {outcome}"

    def _find(self, order: Order) -> RequestState:
        try:
            request = self._s.state.request(int(order.args["id"]))
        except (KeyError, TypeError, ValueError):
            raise Refused("which request? name its id") from None
        if request is None:
            raise Refused(f"no request {order.args['id']}")
        if request.outcome is not None:
            raise Lost(f"request {request.id} was already {request.outcome} by {request.by or 'somebody'}")
        return request

    def _extend(self, order: Order) -> str:
        try:
            dimension = parse_dimension(str(order.args.get("dimension")))
        except ValueError as error:
            raise Refused(str(error)) from None
        return self._raise(order, dimension, order.args.get("by"))

    def _raises(self) -> Iterator[ev.Event]:
        return (row.event for row in self._s.journal.rows(kinds=("ceiling_raised",)))

    def _raise(self, order: Order, dimension: Dimension, amount: object) -> str:
        limit = self._s.state.limit(dimension)
        if limit is None:
            raise Refused(f"{dimension} has no ceiling in the contract")
        try:
            by = parse_amount(dimension, amount) if isinstance(amount, str | int) else max(1, limit // EXTENSION_SHARE)
        except ValueError as error:
            raise Refused(str(error)) from None
        if by <= 0:
            raise Refused("an extension is more than nothing")
        if any(isinstance(e, ev.CeilingRaised) and e.order == order.id for e in self._raises()):
            return "already raised"  # a crash came between the row and its answer
        rows: list[ev.Event] = [ev.CeilingRaised(dimension=dimension, by=by, limit=limit + by, order=order.id)]
        rows += [
            ev.RequestClosed(id=r.id, outcome=RequestOutcome.GRANTED, by=order.by)
            for r in self._s.state.open_requests
            if r.opened.request is RequestKind.EXTENSION and r.opened.dimension is dimension
        ]
        self._s.append(*rows)
        return f"{dimension}: the ceiling is now {format_amount(dimension, limit + by)}"


class Lost(Refused):
    """Another answer came first."""
