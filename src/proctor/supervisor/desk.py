"""The operator's desk: orders are taken in here and answered, each exactly once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from proctor.approvals.rules import Rules
from proctor.budget.extension import suggested
from proctor.checkpoint import history
from proctor.errors import ProctorError
from proctor.journal import events as ev
from proctor.journal.state import RequestState
from proctor.supervisor import handles, inbox, sweeping
from proctor.supervisor.asking import Asking
from proctor.supervisor.inbox import Order
from proctor.supervisor.session import Session
from proctor.text import safe_line
from proctor.units import format_amount, parse_amount, parse_dimension
from proctor.words import CheckpointKind, Dimension, RequestKind, RequestOutcome
from proctor.worker import tools

PAST = frozenset({"rollback", "undo"})
"""Orders that take a while to carry out, and change what the next ones mean."""
AFTER_IT = PAST | {"checkpoint", "prune", "resume"}
"""Orders that wait while the tree goes back or forth: what was ordered first is done first."""


class Refused(Exception):
    """The order cannot be done; the text says why."""


class Desk(Asking):
    """Takes orders and holds requests for one session."""

    def __init__(self, session: Session, rules: Rules) -> None:
        super().__init__(session, rules)
        self._accepted: set[str] = set()
        self._chores: list[Order] = []
        self._going: set[str] = set()
        """Orders of `PAST` that were taken in and are not answered."""
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
            elif self._going and order.verb in AFTER_IT:
                continue
            else:
                self._accepted.add(order.id)
                if order.verb in PAST:
                    self._going.add(order.id)
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
        self._going.discard(order.id)
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
            return "already paused; `proctor resume` goes on"
        self._s.paused = True
        self._s.settle_motion()
        return "paused; the worker is frozen" if self._s.running else "paused; no worker is running"

    def _resume(self, order: Order) -> str:
        waiting = [r for r in self._s.state.open_requests if r.opened.request is RequestKind.PLATEAU]
        for request in waiting:
            self.close_request(request.opened, RequestOutcome.GRANTED, order.by)
        if order.args.get("reset_plateau") and not waiting:
            self._s.append(ev.PlateauReset(by=order.by))
        if not (self._s.paused or waiting):
            return "not paused"
        self._s.paused = False
        self._s.settle_motion()
        self._s.changed.set()
        still = self._s.waiting_requests
        return f"resumed; request #{still[0].id} still waits for you" if still else "resumed"

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

    # --- answers --------------------------------------------------------------------------------

    def _answer(self, order: Order, outcome: RequestOutcome) -> str:
        request = self._find(order)
        opened = request.opened
        reason = safe_line(str(order.args.get("reason") or ""), 2000)
        changed = self._changed(order, opened, outcome)
        if opened.request is RequestKind.EXTENSION and outcome is RequestOutcome.GRANTED:
            assert opened.dimension is not None
            return self._raise(order, opened.dimension, order.args.get("by"))
        told = self.close_request(opened, outcome, order.by, reason, changed)
        if opened.request is RequestKind.REVIEW and opened.task is not None and outcome is RequestOutcome.DENIED:
            return f"task {opened.task} dropped"
        said = f"request {opened.id} {outcome}{' with another input' if changed is not None else ''}"
        return said if told else f"{said}; its worker has ended: kept for the next one that asks the same"

    def _changed(self, order: Order, opened: ev.RequestOpened, outcome: RequestOutcome) -> dict[str, Any] | None:
        """The input that is granted instead of the one asked for; None if it is that one."""
        changed = order.args.get("input")
        if changed is None or changed == opened.input:
            return None
        if not isinstance(changed, dict):
            raise Refused("an input is a JSON object")
        if not tools.is_sound(changed):
            raise Refused("this input is too large, too deep, or no text: no worker is given it")
        if outcome is not RequestOutcome.GRANTED or opened.request is not RequestKind.TOOL:
            raise Refused("only a tool request can be granted with another input")
        if not opened.changeable:
            raise Refused(
                f"this worker takes no other input: grant request {opened.id} as it is, or deny it and say what instead"
            )
        return changed

    def _find(self, order: Order) -> RequestState:
        try:
            request = self._s.state.request(int(order.args["id"]))
        except (KeyError, TypeError, ValueError):
            raise Refused("which request? name its id") from None
        if request is None and 0 < int(order.args["id"]) < self._s.state.next_request:
            raise Lost(f"request {order.args['id']} was already answered")
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

    def _offer(self, dimension: Dimension, limit: int) -> int:
        """By how much a ceiling is raised where no amount is named."""
        used = self._s.account.figures().get(dimension, ev.Figure(0)).used
        wanted = (r.opened.wanted for r in self._s.state.open_requests if r.opened.dimension is dimension)
        return suggested(dimension, used, limit, max(wanted, default=0))

    def _raise(self, order: Order, dimension: Dimension, amount: object) -> str:
        limit = self._s.state.limit(dimension)
        if limit is None:
            raise Refused(f"{dimension} has no ceiling in the contract")
        try:
            by = parse_amount(dimension, amount) if isinstance(amount, str | int) else self._offer(dimension, limit)
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
