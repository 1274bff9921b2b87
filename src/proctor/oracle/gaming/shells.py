"""Files of the work that shells of checks read: what lets a check off from there on, or is run in the place of a
program that it judges with."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.oracle.gaming.change import Change, Found, found
from proctor.oracle.toolchains.sourced import lets_off
from proctor.words import Gaming, Weight


def look(change: Change) -> Iterator[Found]:
    """New commands, run as the file is read, that end a check with success or have it heed no failure, and new
    functions called like programs."""
    (had, stood_in), (has, stands_in) = (lets_off(text or "") for text in (change.before, change.after))
    was = [step.words for step in had]
    for step in has:
        if step.words in was:
            was.remove(step.words)
        else:
            why = f"a check that reads this into its shell is let off from here on: {step.line.strip()[:80]}"
            yield found(change, Gaming.MASKED, Weight.SUSPICION, _number(change, step.line.strip()), why)
    for name in sorted(stands_in - stood_in):
        why = f"a check that reads this into its shell runs this instead of `{name}`"
        yield found(change, Gaming.MASKED, Weight.SUSPICION, _number(change, name), why)


def _number(change: Change, text: str) -> int:
    return next((number for number, line in change.added if text in line), change.first)
