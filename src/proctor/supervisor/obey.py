"""Carrying out the orders that end the running step: stop, park, fresh, rollback, undo."""

from __future__ import annotations

from proctor.errors import ProctorError
from proctor.journal import events as ev
from proctor.supervisor import handles, report
from proctor.supervisor.desk import Desk
from proctor.supervisor.ending import Ending
from proctor.supervisor.inbox import Order
from proctor.supervisor.session import STILL, Session
from proctor.units import counted
from proctor.words import IterationEnd, RequestKind, SessionStatus

OWN = tuple(kind for kind in RequestKind if kind not in STILL)
"""What the loop itself asks; once it is interrupted, nobody waits for the answer."""
PAUSED = "the session is paused; what is still to be asked is asked anew when it goes on"


async def carry_out(s: Session, desk: Desk) -> Ending | None:
    """Do what was wished, oldest first; the session's end if one of them is it."""
    ending: Ending | None = None
    while s.wishes and ending is None:
        ending = await _one(s, desk, s.wishes.pop(0))
    for order in s.wishes:
        desk.close(order, "refused", "the session has ended")
    s.wishes.clear()
    s.wish.clear()
    return ending


async def _one(s: Session, desk: Desk, order: Order) -> Ending | None:
    match order.verb:
        case "stop":
            desk.close(order, "done", "stopped; `proctor run` goes on from here")
            return Ending(SessionStatus.STOPPED, "operator")
        case "park":
            desk.close(order, "done", "parked; `proctor resume` goes on from here")
            return Ending(SessionStatus.PARKED, "operator")
        case "fresh":
            desk.close(order, "done", "a fresh worker starts from the brief")
        case _:
            await _go_back(s, desk, order)
    return None


async def _go_back(s: Session, desk: Desk, order: Order) -> None:
    """The tree and the tasks go back; the session is paused until the operator has looked."""
    await close_iteration(s)
    try:
        if order.verb == "undo":
            back = await s.timeline.undo(redo=bool(order.args.get("redo")))
        else:
            to = order.args.get("to")
            keep_mine = bool(order.args.get("keep_mine"))
            paths = tuple(order.args.get("paths") or ())
            back = await s.timeline.rollback(str(to) if to else None, paths, keep_mine=keep_mine)
    except ProctorError as error:
        desk.close(order, "refused", str(error))
    else:
        report.went_back(s, back)
        desk.close(order, "done", describe(back))
    desk.withdraw(PAUSED, *OWN)
    s.paused = True
    s.settle_motion()


async def close_iteration(s: Session) -> None:
    """An iteration whose tree is about to be taken back is settled without a verdict: what it cost stays."""
    intent = s.state.intent
    if intent is not None:
        if s.state.intent_end is None:
            tree = (await s.timeline.present()).tree
            how = IterationEnd.OPERATOR
            s.append(ev.IterationEnded(iteration=intent.iteration, task=intent.task, how=how, tree=tree))
        used = s.account.end()
        settled = ev.Settled(iteration=intent.iteration, task=intent.task, amounts=used)
        decided = ev.Decided(iteration=intent.iteration, move="go_on", why="operator")
        s.append(ev.Spent(figures=s.account.figures()), settled, decided)


def describe(back: ev.RolledBack) -> str:
    """What a rollback did, in one line."""
    parked = f"; {counted(len(back.parked), 'ignored file')} set aside" if back.parked else ""
    said = "".join(f"; {line}" for line in back.said[:1])
    more = f" (and {len(back.said) - 1} more to look at)" if len(back.said) > 1 else ""
    changed = f"{counted(back.changed, 'file')} put back; what was there is kept as {back.safety}"
    return f"{handles.stands(back.target, back.paths, len(back.mine))}: {changed}{parked}{said}{more}"
