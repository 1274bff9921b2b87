"""The footer: every key that works now, as many as fit, the important ones last to go."""

from __future__ import annotations

from proctor.tui.actions import ACTIONS
from proctor.tui.spans import Line, Role, fit, line


def footer(keys: dict[str, str], room: int, *, armed_stop: bool = False) -> Line:
    """One line of keys and words; `keys` maps the verbs that are offered to how their keys are shown."""
    fields = []
    for action in ACTIONS:
        if action.rank is None or action.verb not in keys:
            continue
        if action.verb == "stop" and armed_stop:
            fields.append((-1, line((f" {keys['stop']} again to stop ", Role.ATTENTION_BADGE))))
        else:
            fields.append((action.rank, line((keys[action.verb], Role.STRONG), (f" {action.label}", Role.DIM))))
    return line(" ", fit(fields, room - 2, 3))


def overlay(keys: tuple[tuple[str, str], ...], room: int) -> Line:
    """The keys of what lies over the session."""
    fields = [(place, line((key, Role.STRONG), (f" {label}", Role.DIM))) for place, (key, label) in enumerate(keys)]
    return line(" ", fit(fields, room - 2, 3))


def shown(key: str) -> str:
    """How a key is written for a person."""
    names = {"question_mark": "?", "colon": ":", "escape": "esc", "space": "space", "slash": "/"}
    first = key.split(",", maxsplit=1)[0].strip()
    return names.get(first, first)
