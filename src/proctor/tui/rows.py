"""The journal's rows as entries of the log. Pure; everything is made safe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from proctor.journal import events as ev
from proctor.text import safe_line
from proctor.tui import format as fmt
from proctor.tui import oracle_rows as oracle
from proctor.tui.entries import BODY, Entry, Kind, Told, hunk, main_argument, some
from proctor.tui.glyphs import CHECKPOINT, CLAIM
from proctor.tui.spans import Role
from proctor.tui.view import moved
from proctor.tui.wording import OUTCOMES, RESPONSES, reason, seen_over
from proctor.units import counted, format_duration
from proctor.words import (
    DROPPED,
    STANDS,
    CheckpointKind,
    IterationEnd,
    Level,
    Light,
    RequestOutcome,
    SessionStatus,
    TaskStatus,
)

KINDS = (
    "session_started", "rebound", "plan_revised", "oracle_frozen",
    "supervisor_started", "supervisor_ended", "status_changed", "iteration_started",
    "claim_recorded", "iteration_ended", "judged", "false_claim", "tampered", "exposed", "taken_over", "quarantined",
    "autorun", "task_moved", "checkpoint_taken", "checkpoint_confirmed", "checkpoints_pruned", "rolled_back",
    "level_crossed", "ceiling_raised", "degraded",
    "suspected", "plateau_signal", "plateau_fired", "plateau_cleared", "plateau_reset", "loop_seen",
    "plan_confirmed", "drift_seen", "drift_answered",
    "request_opened", "request_closed", "noted", "noticed", "order_taken", "logged", "task_committed",
)  # fmt: skip
"""Kinds of rows that the log or the screen looks at."""
_ENDED = {
    IterationEnd.START_FAILED: "could not start",
    IterationEnd.OPERATOR: "ended by you",
    IterationEnd.BUDGET: "ended at a ceiling",
    IterationEnd.LINGERED: "did not leave",
    IterationEnd.LOOPING: "ran in circles",
    IterationEnd.UNCOVERED: "ended, for a protected file lay open; a fresh worker goes on",
}
_OUTCOME_ROLE = {RequestOutcome.GRANTED: Role.TEXT, RequestOutcome.DENIED: Role.TEXT}


def from_row(row: ev.Row) -> Entry | None:
    """The entry of a journal row; None for rows that are no news to a reader."""
    tell = _TELLERS.get(type(row.event))
    told = tell(row.event) if tell else None
    if told is None:
        return None
    word, text, *rest = told
    role = rest[0] if rest else Role.TEXT
    kind = Kind.BREAK if isinstance(row.event, ev.IterationStarted) else Kind.HARNESS
    return Entry(row.at, kind, word, safe_line(text, BODY), role, 3)


def for_screen(rows: Sequence[ev.Row]) -> list[Entry]:
    """The entries of rows that came together, without what a glance has no use for: how the sandbox is bound, that a
    look at every file found nothing, and levels below the one that was reached at once. `from_row` has them."""
    reached = {(e.dimension, e.used): e.level for row in rows if isinstance(e := row.event, ev.LevelCrossed)}
    found = []
    for row in rows:
        shown = row
        match row.event:
            case ev.SupervisorStarted() as up:
                shown = replace(row, event=replace(up, bound=()))
            case ev.Logged(room="backend"):
                continue
            case ev.CheckpointConfirmed(missed=()):
                continue
            case ev.LevelCrossed() as e if reached[e.dimension, e.used] is not e.level:
                continue
        found.append(from_row(shown))
    return [entry for entry in found if entry]


def _status_changed(e: ev.StatusChanged) -> Told:
    if e.status in (SessionStatus.RUNNING, SessionStatus.ASKING, SessionStatus.PLATEAU):
        return None  # the header says it, and a request has its own row
    why = "by you" if e.why == "operator" else reason(e.why or "")
    return "status", f"{e.status}" + (f" · {why}" if why else ""), Role.STRONG


def _iteration_started(e: ev.IterationStarted) -> Told:
    return "", f"iteration {e.iteration} · task {e.task}" + (" · narrow" if e.narrow else "")


def _iteration_ended(e: ev.IterationEnded) -> Told:
    size = f" · {counted(e.files, 'file')}, {counted(e.lines, 'line')}" if e.files or e.lines else " · nothing changed"
    if e.how in (IterationEnd.INTERRUPTED, IterationEnd.OPERATOR) and not (e.files or e.lines):
        size = ""  # not counted, or more than a checkpoint keeps
    how = _ENDED.get(e.how, e.how.replace("_", " "))
    if e.how is IterationEnd.OPERATOR and e.detail:
        return "worker", f"{how} ({e.detail}){size}", Role.DIM
    if e.exit_code is not None:
        how += f" {e.exit_code}" if e.how is IterationEnd.EXITED else f" (exit code {e.exit_code})"
    why = (e.detail, f"not counted, {e.hindered}" if e.hindered else "")
    return "worker", " · ".join(filter(None, (f"{how}{size}", *why))), Role.DIM


def _checkpoint_taken(e: ev.CheckpointTaken) -> Told:
    if e.checkpoint is CheckpointKind.SAFETY:
        return None  # the row of the rollback names it
    match e.checkpoint:
        case CheckpointKind.TASK:
            what = f"task {e.task}"
        case CheckpointKind.ASKED:
            note = "your edit" if e.edited else e.note
            what = " · ".join(filter(None, (e.name, note))) or "as you asked"
        case _:
            what = str(e.checkpoint)
    return "kept", f"{CHECKPOINT[e.checkpoint]} {e.id} {what}", Role.DIM


def _checkpoint_confirmed(e: ev.CheckpointConfirmed) -> Told:
    found = f"; it found {counted(len(e.missed), 'changed path')} more, kept too: {some(e.missed)}" if e.missed else ""
    return "kept", f"{e.id} is complete: every file was looked at, in {format_duration(e.ms)}{found}", Role.DIM


def _pruned(e: ev.CheckpointsPruned) -> Told:
    why = "older than the contract keeps" if e.why == "keep" else "pruned"
    gone = [f"{counted(len(e.ids), 'checkpoint')} ({some(e.ids)})"] if e.ids else []
    gone += [f"the raw output of {counted(len(e.iterations), 'iteration')}"] if e.iterations else []
    return "kept", f"{why}: {' and '.join(gone)}", Role.DIM


def _rolled_back(e: ev.RolledBack) -> Told:
    """What the harness put back, in words that no worker's change is told in."""
    if e.failed:
        return "back", f"the {e.way} did not happen: {e.failed}", Role.DANGER
    ways = {"undo": "rollback undone, back to", "redo": "rollback done again, to"}
    way = ways.get(e.way, "rolled back to") + f" {e.target}" + (" after a failed verdict" * (e.way == "failed_verdict"))
    if e.way == "failed_verdict" and not moved(e):
        return None  # there was nothing to put back
    only = f", of {counted(len(e.paths), 'path')} only" if e.paths else ""
    mine = f", {counted(len(e.mine), 'edit')} of yours left in place" if e.mine else ""
    said = "".join(f"; {line}" for line in e.said)
    kept = f"what was there is kept as {CHECKPOINT[CheckpointKind.SAFETY]} {e.safety}"
    return "back", f"{way}{only}: {counted(e.changed, 'file')} put back{mine}; {kept}{said}", Role.STRONG


def _level_crossed(e: ev.LevelCrossed) -> Told:
    if e.level is Level.OK:
        return None
    used, limit = fmt.amount(e.dimension, e.used), fmt.limit(e.dimension, e.limit)
    return "budget", f"{fmt.LABEL[e.dimension]} {fmt.LEVEL[e.level]}: {used} of {limit}", fmt.LEVEL_ROLE[e.level]


def _ceiling_raised(e: ev.CeilingRaised) -> Told:
    by, limit = fmt.amount(e.dimension, e.by), fmt.limit(e.dimension, e.limit)
    return "budget", f"{fmt.LABEL[e.dimension]} raised by {by} to {limit}", Role.STRONG


def _plateau_fired(e: ev.PlateauFired) -> Told:
    said = f"{seen_over(e.rule, e.window)}; {RESPONSES[e.response]}"
    return "plateau", said, Role.DANGER


def _loop_seen(e: ev.LoopSeen) -> Told:
    ended = e.light is Light.FIRING
    return (
        "circles",
        f"{'the iteration ends' if ended else 'a warning'}: {' · '.join(e.evidence[:2])}",
        Role.DANGER if ended else Role.ATTENTION,
    )


def _drift_seen(e: ev.DriftSeen) -> Told:
    role = {Light.QUIET: Role.DIM, Light.SUSPECT: Role.TEXT, Light.FIRING: Role.ATTENTION}[e.light]
    return "drift", f"{e.drift.replace('_', ' ')}{' is' * (e.light is Light.QUIET)} {e.light}: {e.why}", role


def _request_opened(e: ev.RequestOpened) -> Told:
    if e.granted:
        return None  # the worker's own line says what it does
    text = f"{e.tool} {main_argument(e.input)[1] or e.what}" if e.tool else e.what
    return "asks", f"#{e.id} {text}", Role.ATTENTION


def _request_closed(e: ev.RequestClosed) -> Told:
    by = f" by {e.by}" if e.by else ""
    changed = f" as {main_argument(e.input)[1]}" if e.input is not None else ""
    return (
        "answer",
        f"#{e.id} {e.outcome}{changed}{by}" + (f": {e.reason}" if e.reason else ""),
        _OUTCOME_ROLE.get(e.outcome, Role.DIM),
    )


def _order_taken(e: ev.OrderTaken) -> Told:
    if e.outcome == "done" and e.verb in (
        "approve",
        "deny",
        "note",
        "rollback",
        "undo",
        "checkpoint",
        "extend",
        "pause",
        "park",
        "stop",
    ):
        return None  # their own rows say it
    if e.outcome == "done" and e.verb == "resume":
        return "status", "goes on, by you", Role.STRONG
    outcome = "" if e.outcome == "done" and e.detail else f" {OUTCOMES.get(e.outcome, e.outcome)}"
    return "order", f"{e.verb}{outcome}" + (f": {e.detail}" if e.detail else ""), Role.DIM


def _plan_revised(e: ev.PlanRevised) -> Told:
    return ("plan", f"revised by the {e.by}: {some(e.changed)}{hunk(e.diff)}", Role.STRONG) if e.changed else None


def _supervisor_started(e: ev.SupervisorStarted) -> Told:
    said = (e.sandbox, e.note, *e.bound, *(f"not bound: {one}" for one in e.unbound))
    return "proctor", "supervisor up · " + " · ".join(filter(None, said)), Role.DIM


def _task_moved(e: ev.TaskMoved) -> Told:
    dropped = e.status is TaskStatus.BLOCKED and e.why == DROPPED
    said = "dropped, by you" if dropped else STANDS[e.status] + (f": {reason(e.why)}" if e.why else "")
    return "task", f"{e.task} {said}"


def _degraded(e: ev.Degraded) -> Told:
    return "budget", f"{fmt.LABEL[e.dimension]} at its ceiling: only {e.model} from here on", Role.ATTENTION


_TELLERS: dict[type[ev.Event], Callable[[Any], Told]] = {
    ev.SessionStarted: lambda e: ("session", e.goal),
    ev.Rebound: lambda e: ("session", f"{'copied' if e.session else 'moved'} here from {e.was}", Role.DIM),
    ev.SupervisorStarted: _supervisor_started,
    ev.SupervisorEnded: lambda e: ("proctor", f"supervisor ended · exit {e.exit_code}", Role.DIM),
    ev.StatusChanged: _status_changed,
    ev.PlanRevised: _plan_revised,
    ev.OracleFrozen: oracle.oracle_frozen,
    ev.IterationStarted: _iteration_started,
    ev.IterationEnded: _iteration_ended,
    ev.ClaimRecorded: lambda e: ("claims", f"{CLAIM} task {e.task} {e.status}" + (f": {e.why}" if e.why else "")),
    ev.Judged: oracle.judged,
    ev.Regressed: oracle.regressed,
    ev.Audited: oracle.audited,
    ev.FalseClaim: lambda e: ("claim", f"task {e.task} was claimed done, the check says {e.verdict}", Role.STRONG),
    ev.Tampered: oracle.tampered,
    ev.Suspected: oracle.suspected,
    ev.Exposed: oracle.exposed,
    ev.TakenOver: lambda e: ("exposed", f"taken over as it is now: {some(e.paths)}", Role.DIM),
    ev.Quarantined: oracle.quarantined,
    ev.Autorun: oracle.autorun,
    ev.TaskMoved: _task_moved,
    ev.CheckpointTaken: _checkpoint_taken,
    ev.CheckpointConfirmed: _checkpoint_confirmed,
    ev.CheckpointsPruned: _pruned,
    ev.TaskCommitted: lambda e: ("kept", f"task {e.task} is commit {e.commit[:12]} on the session branch", Role.DIM),
    ev.RolledBack: _rolled_back,
    ev.LevelCrossed: _level_crossed,
    ev.CeilingRaised: _ceiling_raised,
    ev.Degraded: _degraded,
    ev.PlateauSignal: lambda e: ("plateau", f"suspect: {seen_over(e.rule, e.window)}"),
    ev.PlateauFired: _plateau_fired,
    ev.PlateauCleared: lambda _: ("plateau", "no rule holds any more", Role.DIM),
    ev.LoopSeen: _loop_seen,
    ev.DriftSeen: _drift_seen,
    ev.DriftAnswered: lambda e: ("drift", f"task {e.task}: {RESPONSES[e.response]}", Role.ATTENTION),
    ev.PlanConfirmed: lambda e: ("plan", f"stands, though these are gone: {some(e.gone)}", Role.DIM),
    ev.PlateauReset: lambda e: ("plateau", "counters start anew" + (f", by {e.by}" if e.by else "")),
    ev.RequestOpened: _request_opened,
    ev.RequestClosed: _request_closed,
    ev.OrderTaken: _order_taken,
    ev.Noted: lambda e: ("note", f"for the next brief: {e.text}"),
    ev.Logged: lambda e: ("proctor", e.text, Role.DIM),
}
