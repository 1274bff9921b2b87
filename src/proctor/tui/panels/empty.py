"""What an empty screen teaches: the one command to begin."""

from __future__ import annotations

from proctor.tui.spans import Line, Role, line, shorten
from proctor.tui.view import View


def empty(view: View, room: int, keys: dict[str, str], *, starting: bool = False) -> list[Line]:
    """No session yet: how to start one, from here or from a shell. Nothing is said of what was not looked at."""
    if starting or not view.looked:
        return [line(("starting …" if starting else "looking …", Role.DIM))]
    narrow = room < 56
    if view.startable:
        rows = [
            ("proctor run", "start the session it describes"),
            ("proctor check", "what the contract promises, in words"),
        ]
    else:
        rows = [
            ("proctor init", "write a contract for this project"),
            ("proctor run", "start the session it describes"),
        ]
    rows.append(("proctor demo", "watch a whole session, a minute long"))
    found = [
        line(("No session here yet", Role.STRONG)),
        line((shorten(str(view.workspace), room), Role.DIM)),
        (),
    ]
    for command, what in rows:
        found.append(line((f"{command:<15}", Role.TEXT), ("" if narrow else what, Role.DIM)))
    if "run" in keys:
        found.extend([(), line((keys["run"], Role.STRONG), " run it now")])
    elif not view.startable:
        found.extend([(), line((shorten("There is no proctor.yaml in this folder.", room), Role.DIM))])
    return found
