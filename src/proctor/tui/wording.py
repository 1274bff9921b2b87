"""What the journal's own words mean, said as a person would."""

from __future__ import annotations

from proctor.text import safe_line
from proctor.tui.format import LABEL
from proctor.words import Dimension, Response, Rule

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


def seen_by(rule: str) -> str:
    """What a plateau rule saw; a name that is none is left as it is."""
    return RULES[Rule(rule)] if rule in set(Rule) else safe_line(rule, 40)


def reason(why: str) -> str:
    """The reason of a status."""
    kind, _, word = why.partition(":")
    match kind:
        case "error":
            return _ERRORS.get(word, safe_line(word, 60))
        case "budget" if word in set(Dimension):
            return f"{LABEL[Dimension(word)]} used up"
        case "request":
            return f"request #{safe_line(word, 12)} was not answered"
        case "plateau":
            return f"plateau, {seen_by(word)}"
        case "drift":
            return f"drift, {safe_line(word, 40).replace('_', ' ')}"
        case "plan_rot":
            return f"the plan names what is gone: {safe_line(word, 60).strip()}"
        case _:
            return _WHY.get(why, safe_line(why, 60))
