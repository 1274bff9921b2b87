"""Paths into JSON: `$`, names (`.a`, `['a b']`), places (`[0]`, `[-1]`), and all of them (`.*`, `[*]`).

The part of RFC 9535 that names things; no filters, slices or descents.
"""

from __future__ import annotations

import re

Steps = tuple[str | int | None, ...]
"""Names and places from the top; None stands for everything there."""

_STEP = re.compile(
    r"\.(?P<name>[^\W\d][\w-]*|\*)|\[(?:(?P<place>-?\d{1,9})|(?P<all>\*)|'(?P<single>[^'\\]*)'|\"(?P<double>[^\"\\]*)\")\]"
)


def parse(text: str) -> Steps:
    """The steps of a path; ValueError where it is none."""
    steps: list[str | int | None] = []
    at = 1 if text.startswith("$") else -1
    while 0 <= at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            at = -1
            break
        if step["all"] or step["name"] == "*":
            steps.append(None)
        elif step["place"]:
            steps.append(int(step["place"]))
        else:
            steps.append(next(word for word in step.group("name", "single", "double") if word is not None))
        at = step.end()
    if at < 0:
        raise ValueError(f"{text[:80]!r} is no path such as $.a.b[0], of names, places and *")
    return tuple(steps)


def find(value: object, steps: Steps) -> list[object]:
    """What stands at a path, in order; nothing where there is nothing."""
    found = [value]
    for step in steps:
        found = [inner for outer in found for inner in _inside(outer, step)]
    return found


def _inside(value: object, step: str | int | None) -> list[object]:
    if isinstance(value, dict):
        if step is None:
            return list(value.values())
        return [value[step]] if step in value and isinstance(step, str) else []
    if isinstance(value, list):
        if step is None:
            return list(value)
        return [value[step]] if isinstance(step, int) and -len(value) <= step < len(value) else []
    return []
