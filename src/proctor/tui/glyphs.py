"""The glyphs: one for every word, each a single cell, each with an ASCII stand-in.

Panels are drawn with the Unicode glyphs; a terminal without them gets the line through `ascii_only`, which keeps
every width.
"""

from __future__ import annotations

import re

from proctor.tui.spans import Line, Role
from proctor.words import CheckpointKind, SessionStatus, TaskStatus

STATUS = {
    SessionStatus.RUNNING: "●",
    SessionStatus.ASKING: "◐",
    SessionStatus.WAITING: "◌",
    SessionStatus.PAUSED: "‖",
    SessionStatus.PLATEAU: "≈",
    SessionStatus.PARKED: "□",
    SessionStatus.STOPPED: "■",
    SessionStatus.FAILED: "✖",
    SessionStatus.DONE: "✔",
    SessionStatus.INTERRUPTED: "↯",
    SessionStatus.UNKNOWN: "?",
}
TASK = {
    TaskStatus.PENDING: "·",
    TaskStatus.DONE: "✔",
    TaskStatus.FAILED: "✘",
    TaskStatus.BLOCKED: "▪",
    TaskStatus.REVIEW: "?",
}
CURRENT, CURRENT_BEAT = "▸", "▹"
CLAIM = "❝"
CHECKPOINT = {
    CheckpointKind.START: "◆",
    CheckpointKind.TASK: "◆",
    CheckpointKind.ASKED: "◆",
    CheckpointKind.SAFETY: "◇",
    CheckpointKind.END: "◆",
}
NOW = "◇"

_ASCII = str.maketrans(
    {
        "●": "*", "◐": "?", "◌": "~", "‖": "=", "≈": "=", "□": "o", "■": "#", "✖": "X", "✔": "+", "↯": "!",
        "·": "-", "✘": "x", "▪": "#", "▸": ">", "▹": ")", "❝": '"', "◆": "#", "◇": "o", "○": "o", "▌": "|",
        "━": "#", "┿": "|", "─": "-", "┼": "|", "├": "[", "┝": "[", "┤": "]", "┥": "]", "│": "|",
        "▁": "_", "▂": ".", "▃": ".", "▄": "-", "▅": "-", "▆": "=", "▇": "=", "█": "#",
        "−": "-", "≥": ">", "↶": "<", "↷": ">", "→": ">", "←": "<", "↑": "^", "↓": "v", "’": "'", "“": '"', "”": '"',
        "⚠": "!", "×": "x", "»": ">", "«": "<", "–": "-", "—": "-", "‘": "'", "≤": "<",
    }
)  # fmt: skip
_CUT = re.compile("[ -~]…|…[ -~]?")
"""A cut, with the cell beside it that its two dots take."""


def ascii_only(of: Line) -> Line:
    """The line in ASCII, cell for cell; a character without a stand-in becomes `?`."""
    from rich.cells import cell_len

    def safe(text: str) -> str:
        text = _CUT.sub(lambda found: "." * len(found[0]), text)
        text = text.translate(_ASCII)
        if text.isascii():
            return text
        return "".join(char if char.isascii() else "?" * cell_len(char) for char in text)

    return tuple((safe(text), role) for text, role in of)


def status_role(status: SessionStatus, why: str | None) -> Role:
    """Colour is spent on attention: what a status and its reason ask of the eye."""
    if status is SessionStatus.DONE:
        return Role.GOOD
    if status is SessionStatus.ASKING or (why or "").startswith("request:"):
        return Role.ATTENTION
    if status in (SessionStatus.FAILED, SessionStatus.PLATEAU, SessionStatus.INTERRUPTED):
        return Role.DANGER
    if (why or "").startswith(("budget:", "plateau:", "drift:", "plan_rot:", "error:")) or why in (
        "tampering",
        "disk",
        "unpriced",
        "links",
    ):
        return Role.DANGER
    return Role.TEXT
