"""The footer: every key that works now, as many as fit, the important ones last to go."""

from __future__ import annotations

from collections.abc import Collection

from proctor.budget.thresholds import level_of
from proctor.journal import checks
from proctor.progress import drift
from proctor.tui.actions import ACTIONS
from proctor.tui.spans import Line, Role, fit, line
from proctor.tui.view import View
from proctor.words import Level, Light, SessionStatus

MATTERS = 9
"""The rank, after the keys that act on the session, of what there is reason to look at now."""


def matters(view: View) -> frozenset[str]:
    """The pages that there is reason to look at now: a light that is lit, a ceiling near, checks that miss something,
    and all that was measured once the session is done."""
    state = view.state
    if state is None:
        return frozenset()
    figures, share = view.figures, checks.share(state)
    levels = [
        level_of(figures[dimension].used, limit, state.alert, state.soft)
        for ceiling in state.ceilings
        if (dimension := ceiling.dimension) in figures and (limit := state.limit(dimension))
    ]
    lit = [state.plateau.light, *(one.light for one in drift.lights(state))]
    done = state.status is SessionStatus.DONE
    facts = {
        "lights": any(light is not Light.QUIET for light in lit),
        "budget": any(level in (Level.SOFT, Level.HARD) for level in levels),
        "checks": done if share is None else share < 1,
        "warnings": True,
        "follow": True,
    }
    return frozenset(verb for verb, holds in facts.items() if holds)


def footer(
    keys: dict[str, str],
    room: int,
    *,
    armed_stop: bool = False,
    first: Collection[str] = (),
    folded: bool = False,
) -> Line:
    """One line of keys and words; `keys` maps the verbs that are offered to how their keys are shown, `first` are
    those that matter now. `folded`: a request waits out of sight."""
    fields = []
    for action in ACTIONS:
        if action.rank is None or action.verb not in keys:
            continue
        if action.verb == "stop" and armed_stop:
            fields.append((-1, line((f" {keys['stop']} again to stop ", Role.ATTENTION_BADGE))))
        else:
            rank = min(action.rank, MATTERS) if action.verb in first else action.rank
            label = "show what waits" if folded and action.verb == "next" else action.label
            fields.append((rank, line((keys[action.verb], Role.STRONG), (f" {label}", Role.DIM))))
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
