"""A worker's raw stream: one JSON line for each line it printed, in a file of the iteration.

The stream is not the journal: it may be large, it is written in batches, and a crash may cost its last lines.
Readers follow it from an offset and never start over.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from proctor.journal.encoding import encode_json

MAX_LINE = 16_384
"""Bytes kept of one line; the rest is counted in `cut`."""
MAX_STREAM = 256 * 1024 * 1024
"""Bytes kept of one iteration's stream; a flood beyond it is counted, not stored."""


RAW = "raw"
"""The event of an agent's own line, kept as it was printed; what it means follows it, from the source `AGENT`."""
AGENT = "agent"


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line: when, from where (`stdout`, `stderr`, `harness`, `agent`), its text, what it was taken for.

    `event` is the protocol word of a line that was understood (`tool`, `usage`, `claim`, `note`, `ask`, `result`).
    `cut` is how many bytes were dropped. The text is hostile: make it safe before showing it.
    """

    at: datetime
    source: str
    text: str
    event: str = ""
    cut: int = 0


_decoder = msgspec.json.Decoder(Line)


def iteration_dir(state_dir: Path, iteration: int) -> Path:
    """The folder of one iteration: brief, stream, check logs."""
    return state_dir / "iterations" / f"{iteration:04d}"


def stream_path(state_dir: Path, iteration: int) -> Path:
    """The iteration's raw stream."""
    return iteration_dir(state_dir, iteration) / "worker.jsonl"


class StreamWriter:
    """Appends lines to one iteration's stream; `flush()` gives them to readers."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = path.open("ab")
        self.offset = self._file.tell()
        self.lines = 0
        self.dropped = 0

    def add(self, source: str, text: bytes | str, event: str = "") -> None:
        """Append one line; beyond the limits it is cut or counted as dropped."""
        if self.offset > MAX_STREAM:
            self.dropped += 1
            return
        cut = max(0, len(text) - MAX_LINE)
        text = text[:MAX_LINE] if cut else text
        shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        line = encode_json(Line(datetime.now(UTC), source, shown, event, cut)) + b"\n"
        self._file.write(line)
        self.offset += len(line)
        self.lines += 1

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def read(path: Path, offset: int = 0, limit: int = 4 * 1024 * 1024) -> tuple[list[Line], int]:
    """Whole lines from `offset` on, at most `limit` bytes, and the offset after them. Nothing if there is no file."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(limit)
    except FileNotFoundError:
        return [], offset
    whole = data[: data.rfind(b"\n") + 1]
    return list(_lines(whole)), offset + len(whole)


def _lines(data: bytes) -> Iterator[Line]:
    for raw in data.splitlines():
        try:
            yield _decoder.decode(raw)
        except msgspec.MsgspecError:
            continue  # the torn last line of a crash, completed by a later append
