"""The banner: one condition that needs a look, with what, why and which key. Nothing when all is well."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.journal.state import State
from proctor.text import safe_line
from proctor.tui import format as fmt
from proctor.tui.glyphs import CHECKPOINT, status_role
from proctor.tui.panels.strip import name
from proctor.tui.spans import Line, Role, fit, line, wrap
from proctor.tui.view import View, rolled_back
from proctor.tui.wording import RESPONSES, RULES
from proctor.units import counted
from proctor.words import CheckpointKind, Exhaustion, Light, RequestKind, Rule, SessionStatus, TaskStatus

_WHY = {
    "provider_limit": "the provider's limit is reached; it goes on by itself",
    "unpriced": "tokens were used for which no price is known",
    "disk": "the disk is full",
    "tampering": "the worker touched the oracle",
    "links": "files with a second name are to stay as they are",
}
_ERRORS = {
    "fault": "a fault of proctor itself; the log has it",
    "supervisor gone": "its supervisor is gone; nothing that was verified is lost",
    "start": "the worker could not be started three times in a row",
    "workspace": "the workspace is gone or cannot be written",
    "sandbox": "the sandbox was refused",
    "journal": "the journal cannot be written",
    "oracle": "the checks cannot be run",
    "disk": "the disk is full",
}


Verbs = tuple[tuple[str, str], ...]
"""Actions by name, each with the words that fit this case."""


@dataclass(frozen=True, slots=True)
class Banner:
    """What to say: a headline, its evidence, and the verbs that help, the best first."""

    role: Role
    headline: str
    lines: tuple[str, ...] = ()
    verbs: Verbs = ()


def banner(view: View) -> Banner | None:
    """The condition that matters most; None while the session simply goes on."""
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
        text = f"{counted(rolled.changed, 'file')} changed{mine}; {kept}"
        way = f"{counted(len(rolled.paths), 'path')} rolled back to" if rolled.paths else "Rolled back to"
        return Banner(Role.TEXT, f"{ways.get(rolled.way, way)} {target}", (text,), verbs)
    if view.ceiling is not None:
        return _ceiling(view)
    return _resting(view) or (_moving(view) if state.status is SessionStatus.RUNNING else None)


def _words(rule: str) -> str:
    return RULES[Rule(rule)] if rule in set(Rule) else safe_line(rule, 40)


def _advice(state: State) -> tuple[str, ...]:
    return (f"→ {safe_line(state.plateau.advice, 300)}",) if state.plateau.advice else ()


def _moving(view: View) -> Banner | None:
    """What the plateau rules hold against a session that goes on."""
    state = view.state
    assert state is not None
    seen = state.plateau
    if seen.light is Light.QUIET or not seen.rule:
        return None
    firing = seen.light is Light.FIRING
    done = RESPONSES[view.fired.response] if firing and view.fired else "the next brief says so, once"
    facts = f"{safe_line(seen.rule, 40)} · {done}"
    lines = (facts, *(f"· {safe_line(one, 300)}" for one in seen.evidence[:1]), *_advice(state))
    verbs: Verbs = (("note", "note …"), ("diff", "diff"), ("rollback", "back to the last good state"))
    headline = f"Plateau{'' if firing else ' suspected'}: {_words(seen.rule)}"
    return Banner(Role.DANGER if firing else Role.TEXT, headline, lines, verbs)


def _plateau(view: View) -> Banner:
    state, fired = view.state, view.fired
    assert state is not None
    rule = state.plateau.rule or ""
    words = _words(rule)
    known = fired if fired and str(fired.rule) == rule else None
    facts = [safe_line(rule, 40) + (f" over {counted(known.window, 'iteration')}" if known else "")]
    if state.plateau.task is not None:
        facts.append(f"task {safe_line(str(state.plateau.task), 12)}")
    if known:
        facts.append(RESPONSES[known.response])
    if state.plateau.why:
        facts.append(safe_line(state.plateau.why, 120))
    shown = (f"· {safe_line(one, 300)}" for one in state.plateau.evidence[:4])
    evidence = (" · ".join(facts), *shown, *_advice(state))
    asked = any(request.opened.request is RequestKind.PLATEAU for request in view.requests)
    verbs: Verbs = (("rollback", "back to the last good state"), ("note", "note …"), ("diff", "diff"))
    if not asked:
        verbs = (("resume", "go on, counters anew"), *verbs, ("park", "park"), ("stop", "stop"))
    return Banner(Role.DANGER, f"Plateau: {words}", evidence, verbs)


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
    room_again = figure is not None and limit is not None and figure.used < limit
    if room_again:
        headline = f"{str(state.status).capitalize()}: {fmt.LABEL[dimension]} was used up; now {spent}{whole}"
    verified = f"{view.verified} of {counted(len(state.tasks), 'task')} verified"
    text = f"the contract says {action}; {verified}, and that stays"
    verbs: Verbs = (("extend", "extend …"), ("budget", "budget"), ("rollback", "back"))
    verbs = (("resume", "go on"), *verbs) if room_again else (*verbs, ("resume", "go on"))
    return Banner(Role.TEXT if room_again else Role.DANGER, headline, (text,), verbs)


def _resting(view: View) -> Banner | None:
    state = view.state
    assert state is not None
    match state.status:
        case SessionStatus.RUNNING | SessionStatus.ASKING:
            return None
        case SessionStatus.WAITING:
            return Banner(Role.TEXT, f"Waiting: {_reason(state.why)}", _limit(view))
        case SessionStatus.DONE:
            return Banner(
                Role.GOOD,
                *summary(view),
                (("diff", "diff"), ("budget", "budget"), ("rollback", "back"), ("quit", "leave")),
            )
        case _:
            verbs = (("resume", "go on"), ("rollback", "back"), ("diff", "diff"), ("note", "note …"))
            return Banner(status_role(state.status, state.why), *summary(view), verbs)


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
    reason = " by you" if state.why == "operator" else f": {_reason(state.why)}" if state.why else ""
    return str(state.status).capitalize() + reason, (_standing(view),)


def _standing(view: View) -> str:
    state = view.state
    assert state is not None
    parts = [f"{view.verified} of {counted(len(state.tasks), 'task')} verified"] if state.tasks else ["no task yet"]
    blocked = sum(task.status in (TaskStatus.BLOCKED, TaskStatus.REVIEW) for task in state.tasks)
    if blocked:
        parts.append(f"{blocked} set aside")
    if state.iteration:
        parts.append(counted(state.iteration, "iteration"))
        parts.append(f"{fmt.short_time(view.active_ms)} active")
    if state.false_claims:
        parts.append(counted(state.false_claims, "false claim"))
    return " · ".join(parts)


def _reason(why: str | None) -> str:
    kind, _, word = (why or "").partition(":")
    match kind:
        case "error":
            return _ERRORS.get(word, safe_line(word, 60))
        case "request":
            return f"request #{safe_line(word, 12)} was not answered"
        case "plateau" | "drift":
            return f"{kind}, {safe_line(word, 40)}"
        case "plan_rot":
            return f"the plan names what is gone: {safe_line(word, 60).strip()}"
        case _:
            return _WHY.get(why or "", safe_line(why or "", 60))


def panel(of: Banner, room: int, keys: dict[str, str]) -> list[Line]:
    """The banner's lines: headline, evidence, and the keys that work."""
    found = [line((row, Role.STRONG if of.role is Role.TEXT else of.role)) for row in wrap(of.headline, room, 2)]
    for one in of.lines:
        found.extend(line((row, Role.DIM)) for row in wrap(one, room, 2))
    fields = [
        (place, line((keys[verb], Role.STRONG), f" {label}"))
        for place, (verb, label) in enumerate(of.verbs)
        if verb in keys
    ]
    return [*found, fit(fields, room, 4)] if of.verbs else found
