"""Where a session's notices go: the contract's channels, without programs that a worker could have written."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from proctor import notify
from proctor.repository import executed

if TYPE_CHECKING:
    from proctor.supervisor.session import Session


async def send(s: Session, text: str, urgency: str) -> None:
    """Send one notice; what fails is logged."""
    title = f"proctor: {s.workspace.name}"
    sent = await notify.send(channels(s), title, text, notify.Urgency(urgency), s.workspace)
    for line in sent.failures:
        s.log("notify", line)


def channels(s: Session) -> notify.Channels:
    """The contract's channels, without programs that a worker could have written."""
    given = s.terms.channels()
    exposed = set(s.state.exposed)
    sound = [command for command in given.commands if not exposed or not exposed & _run_by(s, command)]
    return replace(given, commands=tuple(sound))


def _run_by(s: Session, command: tuple[str, ...]) -> set[str]:
    paths = executed.by_commands([command], s.workspace.resolve())
    return set().union(*(_above(path) for path in (command[0], *paths)))


def _above(program: str) -> set[str]:
    """A path of the workspace and the folders above it."""
    place = PurePath(os.path.normpath(program))
    return {str(path) for path in (place, *place.parents)}
