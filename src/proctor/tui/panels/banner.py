"""The banner: one condition that needs a look, with what, why and which key. Nothing when all is well."""

from __future__ import annotations

from dataclasses import dataclass, replace

from proctor.journal import checks
from proctor.journal.state import State, TaskState
from proctor.text import safe_line
from proctor.tui import format as fmt
from proctor.tui.glyphs import CHECKPOINT, status_role
from proctor.tui.panels.strip import name
from proctor.tui.spans import Line, Role, fit, line, wrap
from proctor.tui.view import MOVING, View, rolled_back
from proctor.tui.wording import RESPONSES, all_aside, because, left_out, nothing_left, reason, seen_by
from proctor.units import counted
from proctor.words import CheckpointKind, Exhaustion, Light, RequestKind, Rule, SessionStatus

Verbs = tuple[tuple[str, str], ...]
"""Actions by name, each with the words that fit this case."""


_HELPS = {
    "unpriced": "Name the model in proctor.yaml as worker.model, or its price under gateway.prices; then go on.",
    "disk": "Make room on the disk, then go on.",
}
"""What helps against a reason that comes back by itself."""


@dataclass(frozen=True, slots=True)
class Banner:
    """What to say: a headline, its evidence, and the verbs that help, the best first."""

    role: Role
    headline: str
    lines: tuple[str, ...] = ()
    verbs: Verbs = ()


def banner(view: View, *, starting: bool = False) -> Banner | None:
    """The condition that matters most; None while the session simply goes on. `starting`: a supervisor is on its way,
    and what is known of the session is what was."""
    if starting and view.state is not None and view.status not in MOVING:
        was = f"It was {view.status}{because(view.why)}. {_standing(view)}."
        return Banner(Role.TEXT, "Starting: its supervisor is on the way", (was,))
    found = _found(view)
    if found is None or not view.back_there:
        return found
    return replace(found, verbs=tuple(one for one in found.verbs if one[0] != "rollback"))


def _found(view: View) -> Banner | None:
    state = view.state
    if view.trouble:
        return Banner(Role.DANGER, "The journal cannot be read", (safe_line(view.trouble, 300),))
    if state is None:
        return None
    if view.plateau:
        return _plateau(view)
    if (rolled := rolled_back(view)) and (state.status is SessionStatus.PAUSED or not state.iteration):
        kept = f"what was there before is kept as {CHECKPOINT[CheckpointKind.SAFETY]} {safe_line(rolled.safety, 12)}"
        where = state.checkpoint(rolled.target)
        target = f"{name(where)}, kept {fmt.ago(where.at, view.now)}" if where else safe_line(rolled.target, 12)
        ways = {"undo": "Rollback undone: back at", "redo": "Rolled back again to"}
        verbs = (("undo", "undo"), ("redo", "redo"), ("resume", "go on from here"), ("diff", "diff"))
        mine = f", {counted(len(rolled.mine), 'edit')} of yours left in place" if rolled.mine else ""
        text = f"{counted(rolled.changed, 'file')} put back{mine}; {kept}"
        way = f"{counted(len(rolled.paths), 'path')} rolled back to" if rolled.paths else "Rolled back to"
        headline = f"{ways.get(rolled.way, way)} {target}"
        if rolled.way == "failed_verdict" and state.status is SessionStatus.PAUSED:
            text = f"before that, after a failed verdict: {headline[0].lower()}{headline[1:]}; {text}"
            headline, verbs = summary(view)[0], (("resume", "go on"), *verbs[:2], verbs[3])
        return Banner(Role.TEXT, headline, (text,), verbs)
    if view.ceiling is not None:
        return _ceiling(view)
    return _resting(view) or (_moving(view) if state.status is SessionStatus.RUNNING else None)


def _advice(state: State) -> tuple[str, ...]:
    return (f"→ {safe_line(state.plateau.advice, 300)}",) if state.plateau.advice else ()


def _evidence(state: State, most: int) -> tuple[str, ...]:
    return tuple(f"· {safe_line(one, 300)}" for one in state.plateau.evidence[:most])


def _moving(view: View) -> Banner | None:
    """What the plateau rules hold against a session that goes on."""
    state = view.state
    assert state is not None
    seen = state.plateau
    if seen.light is Light.QUIET or not seen.rule or view.plateau_elsewhere:
        return None
    firing = seen.light is Light.FIRING
    done = RESPONSES[view.fired.response] if firing and view.fired else "the next brief asks for another approach, once"
    lines = (f"{done[:1].upper()}{done[1:]}.", *_advice(state), *_evidence(state, 1))
    verbs: Verbs = (("note", "note …"), ("lights", "why"), ("diff", "diff"), ("rollback", "back"))
    headline = f"Plateau{'' if firing else ' suspected'}: {seen_by(seen.rule)}"
    return Banner(Role.DANGER if firing else Role.TEXT, headline, lines, verbs)


def _plateau(view: View) -> Banner:
    state, fired = view.state, view.fired
    assert state is not None
    rule = state.plateau.rule or ""
    words = seen_by(rule)
    known = fired if fired and str(fired.rule) == rule else None
    facts = [f"Plateau: {words}"]
    if state.plateau.task is not None:
        facts.append(f"task {safe_line(str(state.plateau.task), 12)}")
    if known and known.rule is not Rule.STALLED:
        facts.append(counted(known.window, "iteration"))
    asked = any(request.opened.request is RequestKind.PLATEAU for request in view.requests)
    verbs: Verbs = (("note", "note …"), ("rollback", "back"), ("lights", "why"), ("diff", "diff"))
    if not asked:
        verbs = (("resume", "go on, counters anew"), *verbs, ("park", "park"), ("stop", "stop"))
    return Banner(Role.DANGER, " · ".join(facts), (*_advice(state), *_evidence(state, 4)), verbs)


def _ceiling(view: View) -> Banner:
    state, dimension = view.state, view.ceiling
    assert state is not None
    assert dimension is not None
    figure, limit = view.figures.get(dimension), state.limit(dimension)
    action = next((c.action for c in state.ceilings if c.dimension is dimension), Exhaustion.PARK)
    spent = f"{fmt.amount(dimension, figure.used)} of " if figure else ""
    whole = fmt.limit(dimension, limit) if limit is not None else "its limit"
    over = figure.used - limit if figure and limit is not None else 0
    beyond = f", {fmt.amount(dimension, over)} over" if over > 0 else ""
    headline = f"{str(state.status).capitalize()}: {fmt.LABEL[dimension]} used up · {spent}{whole}{beyond}"
    room = figure is not None and limit is not None and figure.used < limit
    room_again = room and dimension in state.raised
    if room_again:
        headline = f"{str(state.status).capitalize()}: {fmt.LABEL[dimension]} was used up; now {spent}{whole}"
    elif room:
        headline = f"{str(state.status).capitalize()}: {fmt.LABEL[dimension]} {spent}{whole}, too little left to go on"
    verified = f"{view.verified} of {counted(len(state.tasks), 'task')} verified"
    stays = f"{verified}, and that stays" if view.verified else "no task is verified yet"
    text = f"the contract says {action}; {stays}"
    if more := view.promised.get(dimension):
        granted = f"{fmt.amount(dimension, more)} more of it is granted and counts as soon as it goes on"
        raising: Verbs = (("resume", "go on"), ("extend", "extend …"), ("budget", "budget"), ("rollback", "back"))
        return Banner(Role.TEXT, headline, (granted, text), raising)
    others: Verbs = (("budget", "budget"), ("rollback", "back"))
    raised: Verbs = (("extend", "raise the ceiling …"), ("resume", "then go on"))
    verbs = (("resume", "go on"), ("extend", "extend …"), *others) if room_again else (*raised, *others)
    return Banner(Role.TEXT if room_again else Role.DANGER, headline, (text,), verbs)


def _resting(view: View) -> Banner | None:
    state = view.state
    assert state is not None
    match state.status:
        case SessionStatus.RUNNING | SessionStatus.ASKING:
            return None
        case SessionStatus.WAITING:
            return Banner(Role.TEXT, f"Waiting: {reason(state.why or '')}", _limit(view))
        case SessionStatus.DONE:
            headline, lines = summary(view)
            ended = (
                ("diff", "diff"),
                ("checks", checks.said(state)),
                ("budget", "budget"),
                ("rollback", "back"),
                ("quit", "leave"),
            )
            return Banner(Role.GOOD, headline, (*lines, checks.hint(state)), ended)
        case _:
            headline, lines = summary(view)
            role = status_role(state.status, state.why)
            others: Verbs = (("rollback", "back"), ("diff", "diff"), ("note", "note …"))
            if said := nothing_left(state):
                verbs: Verbs = (("resume", "go on, once there is a task"), ("quit", "leave"), *others)
                return Banner(role, headline, (f"{said[0].upper()}{said[1:]}.", *lines), verbs)
            if aside := _rests_with(view, state):
                return Banner(role, headline, (*_aside(aside), *lines), (("resume", "go on with them"), *others))
            helps = (_HELPS[state.why],) if state.why in _HELPS else ()
            return Banner(role, headline, (*helps, *lines), (("resume", "go on"), *others))


def _aside(tasks: tuple[TaskState, ...]) -> tuple[str, ...]:
    """Why each of the first of them was set aside."""
    return tuple(f"task {safe_line(str(task.id), 12)}: {reason(task.why)}" for task in tasks[:2])


def _limit(view: View) -> tuple[str, ...]:
    """Whose limit it is, in the provider's words, and how long still."""
    limited = view.state.limited if view.state else None
    if limited is None:
        return ()
    seconds = (limited.until or 0) - view.now.timestamp()
    left = f"{fmt.lasting(seconds)} left · " if seconds > 0 else ""
    return (f"{left}{safe_line(limited.upstream, 20)}: {safe_line(limited.why, 120)}",)


def summary(view: View) -> tuple[str, tuple[str, ...]]:
    """The end of a session in words: the headline with the status word, then what it took."""
    state = view.state
    assert state is not None
    return str(state.status).capitalize() + _because(view, state), (_standing(view),)


def _because(view: View, state: State) -> str:
    """Why it has its status. What is asked is said where it waits."""
    if state.status is SessionStatus.ASKING or not state.why:
        return ""
    if state.status is SessionStatus.PARKED and nothing_left(state):
        return ": nothing is left to do"
    if _rests_with(view, state):
        return ": what is left is set aside"
    return because(state.why)


def _rests_with(view: View, state: State) -> tuple[TaskState, ...]:
    """The tasks that were set aside, where a session is parked for want of others."""
    told = view.plateau or view.ceiling is not None
    return all_aside(state) if state.status is SessionStatus.PARKED and not told else ()


def again(view: View, keys: dict[str, str]) -> str:
    """What is said of a session that was to go on and ended by itself before a worker ran: why, and what helps."""
    if view.state is None or view.state.status is SessionStatus.DONE:
        return ""
    if left := nothing_left(view.state):
        return f"It ended again at once: {left}"
    if view.why == "operator":
        return ""
    said = banner(view)
    why = f"It ended again at once. {said.headline}" if said else "It ended again at once"
    if view.ceiling is not None and "extend" in keys and "resume" in keys:
        why += f". {keys['extend']} raises the ceiling, then {keys['resume']} goes on"
    return why


def _standing(view: View) -> str:
    state = view.state
    assert state is not None
    parts = [f"{view.verified} of {counted(len(state.tasks), 'task')} verified"] if state.tasks else ["no task yet"]
    parts += left_out(state)
    if state.iteration:
        parts.append(counted(state.iteration, "iteration"))
        parts.append(f"{fmt.short_time(view.active_ms)} active")
    if state.false_claims:
        parts.append(counted(state.false_claims, "false claim"))
    return " · ".join(parts)


def rows(height: int) -> int:
    """How many rows a banner may have, without its border, on a screen that is so high."""
    return max(4, height // 4 - 2)


def panel(of: Banner, room: int, keys: dict[str, str], rows: int = 8) -> list[Line]:
    """The banner's lines: headline, evidence, and the keys that work. Of the evidence, what `rows` have room for."""
    found = [line((row, Role.STRONG if of.role is Role.TEXT else of.role)) for row in wrap(of.headline, room, 2)]
    left = max(1, rows - len(found) - bool(of.verbs))
    for place, one in enumerate(of.lines):
        said = wrap(one, room, 2)
        if len(said) > left:
            said = wrap(one, room, left) if not place else []
        found += [line((row, Role.DIM)) for row in said]
        left -= len(said)
        if not said:
            break
    fields = [
        (place, line((keys[verb], Role.STRONG), f" {label}"))
        for place, (verb, label) in enumerate(of.verbs)
        if verb in keys
    ]
    return [*found, fit(fields, room, 4)] if of.verbs else found
