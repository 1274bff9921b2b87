"""Hostile text made safe to show: no control bytes, no escape sequences, nothing that reorders or hides.

Workers, their tools and the files they leave are not trusted with a terminal. Everything of theirs passes
through here before it reaches a screen, a title, a notice or a report. The functions never raise, cost time
in proportion to what they show rather than to what they were given, and do not interpret markup.
"""

from __future__ import annotations

import hashlib
import re

LINE_LIMIT = 2_000
BLOCK_LINES = 200
ID_LIMIT = 64
TAB = 4
CUT = "…"
INVALID = "\ufffd"

# ECMA-48: control sequences, control strings (OSC, DCS, APC, PM, SOS), and two-character escapes. Seven-bit and
# eight-bit forms. A string that does not end on its line loses its introducer only, lest it hide what follows.
# No alternative reads past the next introducer, which keeps the scan linear.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9b-\x9f\r\n]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]?"
)
_BREAKS = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Controls, format characters (bidi, zero-width, tags, fillers) and variation selectors: all that take no cell.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_SURROGATES = re.compile("[\ud800-\udfff\ufffe\uffff]")
# A letter may carry two marks; a tower of them would climb over the lines above.
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_MARKS = re.compile(f"({_MARK}{{2}}){_MARK}+")
_NOT_ID = re.compile(r"[^A-Za-z0-9._-]+|\.{2,}")


def safe_line(text: str | bytes, limit: int = LINE_LIMIT) -> str:
    """One printable line of at most `limit` characters; line breaks become spaces, `…` marks a cut."""
    line, cut = _head(text, 16 * limit)
    return _fit(_clean(line).replace("\n", " "), limit, cut)


def safe_block(text: str | bytes, lines: int = BLOCK_LINES, limit: int = LINE_LIMIT) -> str:
    """At most `lines` printable lines of at most `limit` characters; a last line of `…` marks a cut."""
    block, cut = _head(text, 2 * limit * lines)
    rows = _clean(block).split("\n")
    if cut or len(rows) > lines:
        rows = [*rows[: max(lines - 1, 0)], CUT]
    return "\n".join(_fit(row, limit, False) for row in rows)


def safe_id(text: str | bytes, limit: int = ID_LIMIT) -> str:
    """A word fit for a file name or a ref: letters, digits, `.`, `_`, `-`; never empty, hidden or an option."""
    head, _ = _head(text, limit)
    return _NOT_ID.sub("_", head)[:limit].lstrip(".-").rstrip(".") or "_"


def file_name(text: str) -> str:
    """As `safe_id`, and another one for each text: what had to be changed has a digest at its end."""
    name = safe_id(text)
    return name if name == text else f"{name}-{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:8]}"


def _head(text: str | bytes, room: int) -> tuple[str, bool]:
    """The first `room` characters and a few more, and whether there were others.

    Callers ask for a multiple of what they show, which leaves room for colours; what lies beyond is noise.
    """
    room = max(room, 0) + 4_096
    if isinstance(text, bytes):
        head = text[: 4 * room].decode("utf-8", "replace")
        return head[:room], len(head) > room or len(text) > 4 * room
    return text[:room], len(text) > room


def _clean(text: str) -> str:
    """The text with `\\n` as its only control character."""
    if text.isascii() and text.isprintable():
        return text
    text = _BREAKS.sub("\n", _SEQUENCES.sub("", text)).expandtabs(TAB)
    return _MARKS.sub(r"\1", _HIDDEN.sub("", _SURROGATES.sub(INVALID, text)))


def _fit(line: str, limit: int, cut: bool) -> str:
    if len(line) > limit or cut:
        return line[: limit - 1] + CUT if limit > 0 else ""
    return line
