"""Files of the work that shells of checks read: what lets a check off from there on, or is run in the place of a
program that it judges with."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.oracle.gaming.change import Change, Found, found
from proctor.oracle.toolchains.sourced import leaving, replaced
from proctor.words import Gaming, Weight


def look(change: Change) -> Iterator[Found]:
    """New commands, run as the file is read, that end a check with success or have it heed no failure, and new
    functions called like programs."""
    was = [step.words for step in leaving(change.before or "")]
    for step in leaving(change.after or ""):
        if step.words in was:
            was.remove(step.words)
        else:
            why = f"a check that reads this into its shell is let off from here on: {step.line.strip()[:80]}"
            yield found(change, Gaming.MASKED, Weight.SUSPICION, _number(change, step.line.strip()), why)
    for name in sorted(replaced(change.after or "") - replaced(change.before or "")):
        why = f"a check that reads this into its shell runs this instead of `{name}`"
        yield found(change, Gaming.MASKED, Weight.SUSPICION, _number(change, name), why)


def _number(change: Change, text: str) -> int:
    return next((number for number, line in change.added if text in line), change.first)
