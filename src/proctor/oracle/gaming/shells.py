"""Files of the work that scripts of checks read into their own shell: what lets such a script off from there on."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.oracle.gaming.change import Change, Found, found
from proctor.oracle.toolchains.sourced import leaving
from proctor.words import Gaming, Weight


def look(change: Change) -> Iterator[Found]:
    """New commands, run as the file is read, that end a check with success or have it heed no failure."""
    was = leaving(change.before or "")
    for line in leaving(change.after or ""):
        if line not in was:
            number = next((n for n, text in change.added if text.rstrip() == line), change.first)
            why = f"a check that reads this into its shell is let off from here on: {line[:80]}"
            yield found(change, Gaming.MASKED, Weight.SUSPICION, number, why)
