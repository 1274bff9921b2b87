"""What the journal's own words mean, said as a person would."""

from __future__ import annotations

from proctor.words import Response, Rule

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
