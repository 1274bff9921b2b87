"""The help: what works here and now, what each key does, and the command that does the same."""

from __future__ import annotations

from proctor.tui.actions import ACTIONS
from proctor.tui.glyphs import CHECKPOINT, CLAIM, CURRENT, STATUS, TASK
from proctor.tui.spans import Line, Role, line, wrap
from proctor.words import CheckpointKind, SessionStatus, TaskStatus

_LOG_KEYS = (
    ("↑ ↓", "Scroll the log, a line."),
    ("pgup pgdn", "Scroll the log, a page."),
    ("home end", "The log's beginning; its end, following."),
    ("tab", "The next panel."),
    ("ctrl+p", "The palette."),
    ("esc", "Close what is in front."),
)


_GOES_ON = " The session goes on."


def pages(keys: dict[str, str], room: int, *, goes_on: bool = True) -> list[Line]:
    """The whole help as lines; `goes_on` says that the session does when the screen is left."""
    found: list[Line] = [line(("Keys that work now", Role.STRONG)), ()]
    for action in ACTIONS:
        if action.verb in keys:
            said = action.help + _GOES_ON * (goes_on and action.verb == "quit")
            found.extend(_key(keys[action.verb], said, f"proctor {action.cli}" if action.cli else "", room))
    found.extend([(), line(("Everywhere", Role.STRONG)), ()])
    for key, said in _LOG_KEYS:
        found.extend(_key(key, said, "", room))
    found.extend([(), line(("Glyphs", Role.STRONG)), ()])
    found.extend(_glyphs(room))
    return found


def _key(key: str, said: str, command: str, room: int) -> list[Line]:
    wide = room >= 90
    rows = wrap(said, max(10, (58 if wide else room) - 12), 3)
    found = [line((f"  {key:<9} ", Role.STRONG), (rows[0], Role.TEXT))]
    if command and wide:
        found[0] = line(found[0], " " * (46 - len(rows[0])), (f"  {command}", Role.DIM))
    return found + [line(" " * 12, (row, Role.TEXT)) for row in rows[1:]]


def _glyphs(room: int) -> list[Line]:
    tasks = [
        (CURRENT, "the task at work"),
        (TASK[TaskStatus.DONE], "verified by its check"),
        (TASK[TaskStatus.FAILED], "its check failed; still selected"),
        (TASK[TaskStatus.BLOCKED], "set aside"),
        (TASK[TaskStatus.REVIEW], "needs a person"),
        (CLAIM, "what the worker claims; never evidence"),
        (CHECKPOINT[CheckpointKind.TASK], "a checkpoint to go back to"),
        (CHECKPOINT[CheckpointKind.SAFETY], "now, or what a rollback set aside"),
    ]
    found = [line((f"  {glyph:<9} ", Role.TEXT), (said, Role.DIM)) for glyph, said in tasks]
    words: list[str] = []
    for status in SessionStatus:
        said = f"{STATUS[status]} {status}"
        if words and len(words[-1]) + len(said) + 5 <= room:
            words[-1] += f"   {said}"
        else:
            words.append(said)
    marks = line(("  r ~ ?     ", Role.TEXT), ("a figure that was reported, estimated, is unknown", Role.DIM))
    return [*found, marks, (), *(line((f"  {row}", Role.DIM)) for row in words)]
