"""The lines of the log: a worker's stream and the journal's rows, told in one form. Pure; everything is made safe.

The stream and the journal say some things twice (a claim, a request); the journal's word is shown, because it is
the one that counts.
"""

from __future__ import annotations

import heapq
import json
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from proctor.journal import events as ev
from proctor.journal.stream import RAW
from proctor.journal.stream import Line as StreamLine
from proctor.text import CUT, safe_line
from proctor.tui import format as fmt
from proctor.tui.glyphs import CHECKPOINT, CLAIM
from proctor.tui.spans import Role
from proctor.units import counted, format_duration
from proctor.words import (
    Certainty,
    CheckpointKind,
    IterationEnd,
    Level,
    Light,
    Phase,
    RequestOutcome,
    Response,
    Rule,
    SessionStatus,
    TamperKind,
    Verdict,
)

BODY = 1_000
"""Characters shown of one line; the file keeps the rest."""
MOST_HUNK_LINES = 6
RAW_PER_BATCH = 200
"""Plain lines shown of one batch: what comes faster than this is counted, not shown."""
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
_MAIN_ARGUMENTS = ("command", "cmd", "path", "file_path", "file", "pattern", "url", "query", "name")


class Kind(StrEnum):
    """What a log line is: a break between iterations, the harness's word, the worker's protocol, plain output."""

    BREAK = "break"
    HARNESS = "harness"
    WORKER = "worker"
    RAW = "raw"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the log. `word` names it in a narrow column; `rows` is how many rows it may take."""

    at: datetime
    kind: Kind
    word: str
    text: str
    role: Role = Role.TEXT
    rows: int = 2


def main_argument(arguments: dict[str, Any]) -> tuple[str, str]:
    """The name and text of a tool call's main argument; `("", all as JSON)` when none stands out."""
    for name in _MAIN_ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return name, value
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            return name, " ".join(value)
    texts = [(name, value) for name, value in arguments.items() if isinstance(value, str)]
    if len(texts) == 1 == len(arguments):
        return texts[0]
    return "", json.dumps(arguments, ensure_ascii=False, default=str) if arguments else ""


# --- the worker's stream ----------------------------------------------------------------------


def from_stream(lines: Iterable[StreamLine]) -> list[Entry]:
    """Entries of a batch of the stream. Of a flood the last lines are kept and the rest is counted."""
    entries: list[Entry] = []
    raw: list[StreamLine] = []
    hidden: tuple[int, StreamLine | None] = (0, None)
    for one in lines:
        if one.event == RAW:
            continue
        if one.event:
            if entry := _protocol(one):
                entries.append(entry)
        else:
            raw.append(one)
    if len(raw) > RAW_PER_BATCH:
        hidden = len(raw) - RAW_PER_BATCH, raw[0]
        raw = raw[-RAW_PER_BATCH:]
    plain = [_raw(one) for one in raw]
    if hidden[1] is not None:
        text = f"{counted(hidden[0], 'line')} more than can be read; all are in the iteration's worker.jsonl"
        plain.insert(0, Entry(hidden[1].at, Kind.RAW, "", text, Role.FAINT, 1))
    return list(heapq.merge(entries, plain, key=lambda entry: entry.at))


def _raw(one: StreamLine) -> Entry:
    text = safe_line(one.text, BODY) + (f" … {counted(one.cut, 'byte')} more" if one.cut else "")
    word = {"stderr": "err", "harness": "proctor"}.get(one.source, "")
    return Entry(one.at, Kind.RAW, word, text, Role.DIM, 2)


def _protocol(one: StreamLine) -> Entry | None:
    try:
        said = json.loads(one.text)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        return _raw(one)
    match one.event:
        case "tool":
            arguments = said.get("input")
            text = main_argument(arguments)[1] if isinstance(arguments, dict) else str(arguments or "")
            name = safe_line(str(said.get("name") or "tool"), 12)
            return Entry(one.at, Kind.WORKER, name, safe_line(text, BODY))
        case "note":
            return Entry(one.at, Kind.WORKER, "says", safe_line(str(said.get("text") or ""), BODY), rows=4)
        case "result" if not said.get("ok"):
            return Entry(one.at, Kind.WORKER, "failed", safe_line(str(said.get("output") or ""), BODY), Role.DIM)
        case "trouble":
            return Entry(one.at, Kind.WORKER, "trouble", safe_line(str(said.get("text") or ""), BODY), Role.ATTENTION)
        case _:
            return None  # usage moves the gauges; claims and questions have rows of their own


# --- the journal's rows -----------------------------------------------------------------------

RULES = {
    Rule.NO_CHANGE: "no check changed its answer",
    Rule.SHRINKING: "each change is smaller than the one before",
    Rule.SAME_FAILURE: "the same failure comes back",
    Rule.REVISIT: "the work returns to where it was",
    Rule.NO_OP: "iterations change nothing",
    Rule.STALLED: "no task moves",
}
"""What each plateau rule saw, in words."""
RESPONSES = {
    Response.NARROW: "the next brief is narrower",
    Response.BLOCK: "the task is set aside",
    Response.ESCALATE: "you are asked",
    Response.PARK: "the session parks",
    Response.STOP: "the session stops",
}
_ENDED = {
    IterationEnd.START_FAILED: "could not start",
    IterationEnd.OPERATOR: "ended by you",
    IterationEnd.LOOPING: "ran in circles",
}
_TAMPERED: dict[str, str] = {
    TamperKind.CHANGED: "frozen files changed",
    TamperKind.ADDED: "new in a protected place",
    TamperKind.INSTALLED: "changed in what checks borrow",
    TamperKind.SHADOWS: "shadows a module that checks or runners import",
    TamperKind.RUNNER: "new, and a runner would pick it up",
}
_VERDICT_ROLE = {Verdict.PASSED: Role.GOOD}
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


Told = tuple[str, str] | tuple[str, str, Role] | None


def _status_changed(e: ev.StatusChanged) -> Told:
    if e.status in (SessionStatus.RUNNING, SessionStatus.ASKING, SessionStatus.PLATEAU):
        return None  # the header says it, and a request has its own row
    return "status", f"{e.status}" + (f" · {e.why}" if e.why else ""), Role.STRONG


def _iteration_started(e: ev.IterationStarted) -> Told:
    return "", f"iteration {e.iteration} · task {e.task}" + (" · narrow" if e.narrow else "")


def _iteration_ended(e: ev.IterationEnded) -> Told:
    size = f" · {counted(e.files, 'file')}, {counted(e.lines, 'line')}" if e.files or e.lines else " · nothing changed"
    if e.how in (IterationEnd.INTERRUPTED, IterationEnd.OPERATOR) and not (e.files or e.lines):
        size = ""  # not counted, or more than a checkpoint keeps
    how = _ENDED.get(e.how, e.how.replace("_", " "))
    if e.exit_code is not None:
        how += f" {e.exit_code}" if e.how is IterationEnd.EXITED else f" (exit code {e.exit_code})"
    why = (e.detail, f"not counted, {e.hindered}" if e.hindered else "")
    return "worker", " · ".join(filter(None, (f"{how}{size}", *why))), Role.DIM


def _judged(e: ev.Judged) -> Told:
    if e.phase in (Phase.REPEAT, Phase.SMOKE, Phase.REGRESSION):
        if e.verdict is Verdict.PASSED:
            return None
        of = "" if e.task is None else f" of task {e.task}"
        said = f"{e.phase}{of} {e.verdict}" + (f" · {e.reason}" if e.reason else "")
        return "check", said, _VERDICT_ROLE.get(e.verdict, Role.TEXT)
    if e.phase is Phase.BASELINE:
        if e.verdict is Verdict.VACUOUS:
            return (
                "check",
                f"task {e.task} proves nothing: {e.reason or 'its check passed before the work'}",
                Role.ATTENTION,
            )
        return None
    what = "final check" if e.phase is Phase.FINAL else f"task {e.task}"
    failing = f": {', '.join(e.failing[:3])}" if e.failing else ""
    reason = f" · {e.reason}" if e.reason and e.verdict is not Verdict.PASSED else ""
    return "verdict", f"{what} {e.verdict}{failing}{reason}", _VERDICT_ROLE.get(e.verdict, Role.TEXT)


def _regressed(e: ev.Regressed) -> Told:
    back = f" · {e.checkpoint} is where it passed" if e.checkpoint else ""
    return "lost", f"task {e.task} fails again and is open: {e.reason}{back}", Role.DANGER


def _audited(e: ev.Audited) -> Told:
    if e.why:
        return "audit", f"task {e.task}: {e.why}", Role.DIM
    if not e.checkpoint:
        word = "passes before the work" if e.vacuous else "is flaky" if e.flaky else ""
        return ("audit", f"the check of task {e.task} {word}", Role.ATTENTION) if word else None
    text = f"task {e.task}: its check catches {e.caught:,} of {e.measured:,} parts taken out"
    first = f"; nothing verifies {e.unverified[0].where}" if e.unverified else ""
    return "audit", f"{text}{first}{', and it is flaky' if e.flaky else ''}", Role.DIM


def _checkpoint_taken(e: ev.CheckpointTaken) -> Told:
    if e.checkpoint is CheckpointKind.SAFETY:
        return "kept", f"{CHECKPOINT[e.checkpoint]} {e.id}, everything {e.note or 'before a rollback'}", Role.DIM
    what = f"task {e.task}" if e.checkpoint is CheckpointKind.TASK else str(e.checkpoint)
    yet = "" if e.certainty is Certainty.CONFIRMED else f"after {format_duration(e.ms)}, not confirmed yet"
    said = "".join(f" · {word}" for word in (e.name, e.note, yet) if word)
    return "kept", f"{CHECKPOINT[e.checkpoint]} {e.id} {what}{said}", Role.DIM


def _checkpoint_confirmed(e: ev.CheckpointConfirmed) -> Told:
    missed = f"; {counted(len(e.missed), 'path')} changed unannounced ({_some(e.missed)})" if e.missed else ""
    return "kept", f"{e.id} is confirmed, {format_duration(e.ms)} later{missed}", Role.DIM


def _pruned(e: ev.CheckpointsPruned) -> Told:
    why = "older than the contract keeps" if e.why == "keep" else "pruned"
    gone = [f"{counted(len(e.ids), 'checkpoint')} ({_some(e.ids)})"] if e.ids else []
    gone += [f"the raw output of {counted(len(e.iterations), 'iteration')}"] if e.iterations else []
    return "kept", f"{why}: {' and '.join(gone)}", Role.DIM


def _rolled_back(e: ev.RolledBack) -> Told:
    if e.failed:
        return "back", f"the {e.way} did not happen: {e.failed}", Role.DANGER
    mine = f", {counted(len(e.mine), 'edit')} of yours left in place" if e.mine else ""
    only = f", of {counted(len(e.paths), 'path')} only" if e.paths else ""
    said = "".join(f"; {line}" for line in e.said)
    ways = {"undo": "undone", "redo": "done again", "failed_verdict": "back after a failed verdict"}
    return (
        "back",
        f"{ways.get(e.way, 'rolled back')} to {e.target}{only}, {counted(e.changed, 'file')} changed{mine}{said}",
        Role.STRONG,
    )


def _level_crossed(e: ev.LevelCrossed) -> Told:
    if e.level is Level.OK:
        return None
    used, limit = fmt.amount(e.dimension, e.used), fmt.limit(e.dimension, e.limit)
    return "budget", f"{fmt.LABEL[e.dimension]} {fmt.LEVEL[e.level]}: {used} of {limit}", fmt.LEVEL_ROLE[e.level]


def _ceiling_raised(e: ev.CeilingRaised) -> Told:
    by, limit = fmt.amount(e.dimension, e.by), fmt.limit(e.dimension, e.limit)
    return "budget", f"{fmt.LABEL[e.dimension]} raised by {by} to {limit}", Role.STRONG


def _plateau_fired(e: ev.PlateauFired) -> Told:
    why = f" ({e.why})" if e.why else ""
    return "plateau", f"{e.rule} over {e.window}: {RULES[e.rule]}{why}; {RESPONSES[e.response]}", Role.DANGER


def _loop_seen(e: ev.LoopSeen) -> Told:
    ended = e.light is Light.FIRING
    return (
        "circles",
        f"{'the iteration ends' if ended else 'a warning'}: {' · '.join(e.evidence[:2])}",
        Role.DANGER if ended else Role.ATTENTION,
    )


def _drift_seen(e: ev.DriftSeen) -> Told:
    role = {Light.QUIET: Role.DIM, Light.SUSPECT: Role.TEXT, Light.FIRING: Role.ATTENTION}[e.light]
    return "drift", f"{e.drift.replace('_', ' ')} {e.light}: {e.why}", role


def _request_opened(e: ev.RequestOpened) -> Told:
    if e.granted:
        return None  # the worker's own line says what it does
    text = main_argument(e.input)[1] if e.tool else ""
    return "asks", f"#{e.id} {e.tool or e.request} {text or e.what}", Role.ATTENTION


def _request_closed(e: ev.RequestClosed) -> Told:
    by = f" by {e.by}" if e.by else ""
    changed = f" as {main_argument(e.input)[1]}" if e.input is not None else ""
    return (
        "answer",
        f"#{e.id} {e.outcome}{changed}{by}" + (f": {e.reason}" if e.reason else ""),
        _OUTCOME_ROLE.get(e.outcome, Role.DIM),
    )


def _order_taken(e: ev.OrderTaken) -> Told:
    if e.outcome == "done" and e.verb in ("approve", "deny", "note", "rollback", "undo", "checkpoint", "extend"):
        return None  # their own rows say it
    return "order", f"{e.verb} {e.outcome}" + (f": {e.detail}" if e.detail else ""), Role.DIM


def _plan_revised(e: ev.PlanRevised) -> Told:
    return ("plan", f"revised by the {e.by}: {_some(e.changed)}{_hunk(e.diff)}", Role.STRONG) if e.changed else None


def _oracle_frozen(e: ev.OracleFrozen) -> Told:
    said = f"you changed what checks rest on; frozen anew: {_some(e.changed)}{_hunk(e.diff)}"
    return ("oracle", said, Role.STRONG) if e.changed else None


def _hunk(diff: str) -> str:
    """The changed lines of a diff, on one line; `proctor show` has them whole."""
    lines = [line for line in diff.splitlines() if line[:1] in ("+", "-") and line[:4] not in ("+++ ", "--- ")]
    return "".join(f" · {line}" for line in lines[:MOST_HUNK_LINES]) + (" …" if len(lines) > MOST_HUNK_LINES else "")


def _supervisor_started(e: ev.SupervisorStarted) -> Told:
    said = (e.sandbox, e.note, *e.bound, *(f"not bound: {one}" for one in e.unbound))
    return "proctor", "supervisor up · " + " · ".join(filter(None, said)), Role.DIM


def _tampered(e: ev.Tampered) -> Told:
    kinds = dict.fromkeys(e.kinds) if len(e.kinds) == len(e.paths) else ()
    grouped = [(kind, tuple(p for p, k in zip(e.paths, e.kinds, strict=True) if k == kind)) for kind in kinds]
    said = "; ".join(f"{_TAMPERED.get(kind, kind)}: {_some(paths)}" for kind, paths in grouped)
    told = [f"undone for the verdict: {said or _some(e.paths)}"] if e.paths else []
    told += [_findings(e.findings, e.more)] if e.findings else []
    return "tamper", "; ".join(told), Role.DANGER


def _suspected(e: ev.Suspected) -> Told:
    return "suspect", _findings(e.findings, e.more), Role.ATTENTION


def _findings(findings: tuple[ev.Finding, ...], more: int) -> str:
    """The first findings, each with its line."""
    told = [f"{one.where}: {one.why or _TAMPERED.get(one.kind, one.kind)}" + (f" » {one.text}" if one.text else "")
            for one in findings[:2]]  # fmt: skip
    left = len(findings) - len(told) + more
    return "; ".join(told) + (f"; and {left:,} more" if left else "")


def _exposed(e: ev.Exposed) -> Told:
    return "exposed", f"made or replaced while the worker ran, which could write it: {_some(e.paths)}", Role.DANGER


def _quarantined(e: ev.Quarantined) -> Told:
    """What it is, the names that were, and how to get the first ones back. Rows of before lack the new names."""
    renamed = tuple(zip(e.paths, e.now, strict=False))
    stores = tuple(path for path in e.paths if path.rpartition("/")[2].lower() in (".git", "head"))
    orders = tuple(path for path in e.paths if path not in stores)
    told = [
        f"{what}, renamed so that your git passes it by: {_some(paths)}"
        for what, paths in (("made by the worker as a repository", stores), ("your git would run it", orders))
        if paths
    ]
    told += [f"and {e.more:,} more"] if e.more else []
    back = [f"mv {shlex.quote(now)} {shlex.quote(path)}" for path, now in renamed[:2] if CUT not in now]
    told += [f"once you have looked, back with: {' && '.join(back)}"] if back else []
    return "git", "; ".join(told), Role.DANGER


def _autorun(e: ev.Autorun) -> Told:
    if not e.new:
        return None
    return (
        "careful",
        f"your tools would run these by themselves; look before you open the folder: {_some(e.new)}",
        Role.STRONG,
    )


def _some(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(paths[:3]) + more


def _degraded(e: ev.Degraded) -> Told:
    return "budget", f"{fmt.LABEL[e.dimension]} at its ceiling: only {e.model} from here on", Role.ATTENTION


_TELLERS: dict[type[ev.Event], Callable[[Any], Told]] = {
    ev.SessionStarted: lambda e: ("session", e.goal),
    ev.Rebound: lambda e: ("session", f"{'copied' if e.session else 'moved'} here from {e.was}", Role.DIM),
    ev.SupervisorStarted: _supervisor_started,
    ev.SupervisorEnded: lambda e: ("proctor", f"supervisor ended · exit {e.exit_code}", Role.DIM),
    ev.StatusChanged: _status_changed,
    ev.PlanRevised: _plan_revised,
    ev.OracleFrozen: _oracle_frozen,
    ev.IterationStarted: _iteration_started,
    ev.IterationEnded: _iteration_ended,
    ev.ClaimRecorded: lambda e: ("claims", f"{CLAIM} task {e.task} {e.status}" + (f": {e.why}" if e.why else "")),
    ev.Judged: _judged,
    ev.Regressed: _regressed,
    ev.Audited: _audited,
    ev.FalseClaim: lambda e: ("claim", f"task {e.task} was claimed done, the check says {e.verdict}", Role.STRONG),
    ev.Tampered: _tampered,
    ev.Suspected: _suspected,
    ev.Exposed: _exposed,
    ev.TakenOver: lambda e: ("exposed", f"taken over as it is now: {_some(e.paths)}", Role.DIM),
    ev.Quarantined: _quarantined,
    ev.Autorun: _autorun,
    ev.TaskMoved: lambda e: ("task", f"{e.task} {e.status}" + (f": {e.why}" if e.why else "")),
    ev.CheckpointTaken: _checkpoint_taken,
    ev.CheckpointConfirmed: _checkpoint_confirmed,
    ev.CheckpointsPruned: _pruned,
    ev.TaskCommitted: lambda e: ("kept", f"task {e.task} is commit {e.commit[:12]} on the session branch", Role.DIM),
    ev.RolledBack: _rolled_back,
    ev.LevelCrossed: _level_crossed,
    ev.CeilingRaised: _ceiling_raised,
    ev.Degraded: _degraded,
    ev.PlateauSignal: lambda e: ("plateau", f"suspect: {RULES[e.rule]}, {counted(e.window, 'iteration')}"),
    ev.PlateauFired: _plateau_fired,
    ev.PlateauCleared: lambda _: ("plateau", "no rule holds any more", Role.DIM),
    ev.LoopSeen: _loop_seen,
    ev.DriftSeen: _drift_seen,
    ev.DriftAnswered: lambda e: ("drift", f"task {e.task}: {RESPONSES[e.response]}", Role.ATTENTION),
    ev.PlanConfirmed: lambda e: ("plan", f"stands, though these are gone: {_some(e.gone)}", Role.DIM),
    ev.PlateauReset: lambda e: ("plateau", "counters start anew" + (f", by {e.by}" if e.by else "")),
    ev.RequestOpened: _request_opened,
    ev.RequestClosed: _request_closed,
    ev.OrderTaken: _order_taken,
    ev.Noted: lambda e: ("note", f"for the next brief: {e.text}"),
    ev.Logged: lambda e: ("proctor", e.text, Role.DIM),
}


def merge(log: Sequence[Entry], news: Sequence[Entry]) -> tuple[int, list[Entry]]:
    """Weave news into the end of a log by time: how many of the log's entries stay, and what follows them.

    The stream comes a little later than the journal, so what is new may belong before what is shown.
    """
    ordered = sorted(news, key=lambda entry: entry.at)
    keep = len(log)
    while keep and ordered and log[keep - 1].at > ordered[0].at and len(log) - keep < RAW_PER_BATCH:
        keep -= 1
    return keep, list(heapq.merge(log[keep:], ordered, key=lambda entry: entry.at))
