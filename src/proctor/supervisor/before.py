"""What is settled before the first worker of a run starts, with the operator where it is his to say."""

from __future__ import annotations

import asyncio

from proctor.journal import events as ev
from proctor.sandbox.links import asks, separate
from proctor.sandbox.survey import survey
from proctor.supervisor import rot
from proctor.supervisor.desk import Desk
from proctor.supervisor.ending import Ending
from proctor.supervisor.freezing import exposed, freeze_anew
from proctor.supervisor.outcome import answered, asking
from proctor.supervisor.session import Session
from proctor.text import safe_line
from proctor.units import counted
from proctor.words import RequestKind, SessionStatus, Step


async def settle(s: Session, desk: Desk) -> Ending | None:
    """Settle it; the session's end where the operator says no."""
    s.enter(Step.LOAD)
    rot.again(s)
    return await _exposed(s, desk) or await _links(s, desk)


async def _exposed(s: Session, desk: Desk) -> Ending | None:
    """What was made or replaced under a worker is the operator's only when he says so, unless it is what it was."""
    paths = await asyncio.to_thread(exposed, s)
    if paths:
        some = ", ".join(safe_line(path, 80) for path in paths[:5])
        more = f" and {len(paths) - 5} more" if len(paths) > 5 else ""
        opened = desk.opened(
            RequestKind.EXPOSED,
            f"take over {some}{more} as it is now?",
            "it was made or replaced while a worker ran, which could write it: look at it first. "
            "Yes: it is yours, and frozen anew. No: nothing is changed, and no worker starts",
        )
        if not await answered(s, desk, opened, asking(opened)):
            return Ending(SessionStatus.PARKED, "tampering")
    if s.state.exposed:
        s.append(ev.TakenOver(paths=s.state.exposed, by="operator" if paths else "as it was"))
        await freeze_anew(s)
    return None


async def _links(s: Session, desk: Desk) -> Ending | None:
    """A file of its own for every name; asked first where these are many."""
    if s.backend.name == "none":  # nothing is held there
        return None
    seen = await asyncio.to_thread(survey, s.workspace, links=True)
    seen.must_be_whole(s.workspace)
    question = asks(seen.linked)
    if question is not None:
        opened = desk.opened(RequestKind.LINKS, question.what, question.why)
        if not await answered(s, desk, opened, asking(opened)):
            return Ending(SessionStatus.PARKED, "links")
    copied = await asyncio.to_thread(separate, s.workspace, seen.linked)
    if copied:
        s.log("sandbox", f"{counted(copied, 'file')} with a second name copied in place")
    return None
