"""What the journal's own words mean, said as a person would."""

from __future__ import annotations

from proctor.budget.extension import suggested
from proctor.journal.state import State, TaskState
from proctor.text import safe_line
from proctor.tui.format import LABEL
from proctor.units import counted, format_amount
from proctor.words import DROPPED, RULES, STANDS, Dimension, Response, Rule, TaskStatus, Verdict

RESPONSES = {
    Response.NARROW: "the next brief is narrower",
    Response.BLOCK: "the task is set aside",
    Response.ESCALATE: "you are asked",
    Response.PARK: "the session parks",
    Response.STOP: "the session stops",
}

ASKED_LATER = "asked at the end"
"""When a task that needs a person is asked about: once nothing else is left to do."""
OUTCOMES = {"done": "done", "refused": "not done", "lost": "came too late", "expired": "came too late"}
"""What became of an order."""
_ANSWERED = {"note": "your note is"}
"""What the answer to an order is about, where it does not say so itself."""


MOST = 100
"""Times its ceiling, or what there is to offer, by which a dimension is raised at once: what is more was mistyped."""


def not_raised(dimension: Dimension, by: int, limit: int, used: int) -> str:
    """Why a ceiling of `limit` is not raised by `by`; "" where it is."""
    most = MOST * max(limit, suggested(dimension, used, limit))
    if by <= 0:
        return "a ceiling can only be raised"
    return f"at most {format_amount(dimension, most)} at once: a ceiling is not lowered again" if by > most else ""


def answered(verb: str, outcome: str, detail: str) -> str:
    """What became of an order of the operator's, in one line."""
    if outcome == "done" and detail:
        return f"{_ANSWERED[verb]} {detail}" if verb in _ANSWERED else detail
    said = f"{verb} {OUTCOMES.get(outcome, outcome)}"
    return said if outcome == "done" else f"{said}: {detail}"


def seen_over(rule: Rule, window: int) -> str:
    """What a rule saw, and over how many iterations; a run that stands may be told by its tasks or its budget too."""
    return RULES[rule] if rule is Rule.STALLED else f"{RULES[rule]}, {counted(window, 'iteration')}"


_WHY = {
    "provider_limit": "the provider's limit is reached; it goes on by itself",
    "unpriced": "tokens were used for which no price is known",
    "disk": "the disk is full",
    "dropped": "every task is dropped",
    "no_tasks": "there is no task",
    "tampering": "the worker tampered with the checks",
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


def stands(task: TaskState) -> str:
    """Where a task stands, in a word or two: what it says beyond `passed`, `failed` and `open`."""
    if task.taken_back and task.status is not TaskStatus.DONE:
        return "taken back"
    if task.status is TaskStatus.BLOCKED and task.why == DROPPED:
        return "dropped"
    if STANDS[task.status] == "open" and task.verdict not in (None, Verdict.PASSED):
        return str(task.verdict)
    return STANDS[task.status]


def nothing_left(state: State) -> str:
    """Why a session that rests would do nothing, and what there is to do about it; "" where it would."""
    if not state.tasks:
        return "there is no task: write one into tasks.json, or as `- [ ]` into PLAN.md"
    if all(stands(task) == "dropped" for task in state.tasks):
        return "every task is dropped: write another into tasks.json or PLAN.md, or leave it at that"
    return ""


def all_aside(state: State) -> tuple[TaskState, ...]:
    """The tasks that were set aside, where nothing else is left to do."""
    left = tuple(task for task in state.tasks if task.status is not TaskStatus.DONE and stands(task) != "dropped")
    return left if all(stands(task) == "set aside" for task in left) else ()


def left_out(state: State) -> list[str]:
    """How many tasks are neither done nor to be done next, and why: `1 set aside`, `2 dropped`."""
    words = [stands(task) for task in state.tasks]
    return [f"{words.count(word)} {word}" for word in ("set aside", "needs you", "dropped") if word in words]


def unruled(text: str) -> str:
    """A text with the plateau rules' words in the place of their contract keys."""
    for rule, words in RULES.items():
        if "_" in rule:
            text = text.replace(rule, f"“{words}”")
    return text


def seen_by(rule: str) -> str:
    """What a plateau rule saw; a name that is none is left as it is."""
    return RULES[Rule(rule)] if rule in set(Rule) else safe_line(rule, 40)


def because(why: str | None) -> str:
    """The reason of a status, to stand behind its word."""
    return "" if not why else " by you" if why == "operator" else f": {reason(why)}"


def reason(why: str) -> str:
    """The reason of a status."""
    kind, _, word = why.partition(":")
    match kind:
        case "error":
            return _ERRORS.get(word, safe_line(word, 60))
        case "budget" if word in set(Dimension):
            return f"{LABEL[Dimension(word)]} used up"
        case "request":
            return f"request #{safe_line(word, 12)} waits for you"
        case "plateau":
            return f"plateau, {seen_by(word)}"
        case "drift":
            return f"drift, {safe_line(word, 40).replace('_', ' ')}"
        case "plan_rot":
            return f"the plan names what is gone: {safe_line(word, 60).strip()}"
        case _:
            return _WHY.get(why, safe_line(why, 300))
