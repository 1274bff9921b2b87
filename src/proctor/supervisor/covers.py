"""What follows when a cover is gone, or something appears where none could hang: whose it is, and what is said."""

from __future__ import annotations

from pathlib import PurePath

from proctor.contract.problems import FILE
from proctor.journal import events as ev
from proctor.oracle.frozen import is_within
from proctor.sandbox.points import Moved
from proctor.supervisor.session import Session
from proctor.text import safe_line
from proctor.words import IterationEnd

MOST_EXPOSED = 200
NO_FAILURE = "its worker could no longer be kept from it and had to end; no failure of the task; pause before you save"
"""What an ending means, and what spares it."""
PUT_BACK = "the contract is put back and yours set aside: it is read when a session starts, so stop, save it, run"


def uncovered(s: Session, moved: Moved) -> None:
    """A path that the worker must not write was moved or replaced on the host: its iteration ends."""
    running = s.running
    if running is None or running.uncovered:
        return
    running.uncovered = True
    s.moved_in = running.iteration
    where = ", ".join(safe_line(path, 200) for path in moved.paths[:3] or (moved.path,))
    what, ending = "moved, replaced or made", "was replaced on the host, as an editor does that saves by renaming"
    if moved.appeared:
        what = "made"
        ending = "appeared, and was not hidden" if _hides(s, moved.path) else "appeared, and was not protected"
    meaning = "while the worker stood still"
    if moved.exposed:
        s.append(ev.Exposed(iteration=running.iteration, paths=moved.paths[:MOST_EXPOSED] or (moved.path,)))
        meaning = "while the worker ran, which could write there from then on: look at it before you use it"
        meaning += f"; {PUT_BACK}" if FILE in moved.paths else ""
    line = f"{where}: {what} {meaning}"
    s.log("sandbox", line)
    s.notice(line, "exposed" if moved.exposed else "uncovered", "high" if moved.exposed else "normal")
    s.end_worker(IterationEnd.UNCOVERED, f"{where} {ending}: {NO_FAILURE}")


def made(s: Session, paths: tuple[str, ...]) -> None:
    """Protected paths that were absent appeared while the worker ran: they are its own until the operator says."""
    paths = tuple(path for path in paths if path not in s.terms.lists())
    if s.running is not None and set(paths) - set(s.state.exposed):
        s.append(ev.Exposed(iteration=s.running.iteration, paths=paths[:MOST_EXPOSED]))
        some = ", ".join(safe_line(path, 200) for path in paths[:3])
        s.log("sandbox", f"{some}: protected, absent before and made while the worker ran: not frozen")


def _hides(s: Session, path: str) -> bool:
    return is_within(path, [str(PurePath(name)) for name in s.terms.contract.state.hide])
