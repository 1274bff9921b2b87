"""A worker's stream as entries of the log. Pure; everything is made safe."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable

from proctor.journal.stream import RAW
from proctor.journal.stream import Line as StreamLine
from proctor.text import safe_line
from proctor.tui.entries import BATCH, BODY, Entry, Kind, main_argument
from proctor.tui.spans import Role
from proctor.units import counted


def from_stream(lines: Iterable[StreamLine]) -> list[Entry]:
    """Entries of a batch of the stream. Of a flood the last lines are kept and the rest is counted."""
    entries: list[Entry] = []
    raw: list[StreamLine] = []
    hidden: tuple[int, StreamLine | None] = (0, None)
    for one in lines:
        if one.event == RAW:
            continue
        if one.event:
            if entry := _protocol(one):
                entries.append(entry)
        else:
            raw.append(one)
    if len(raw) > BATCH:
        hidden = len(raw) - BATCH, raw[0]
        raw = raw[-BATCH:]
    plain = [_raw(one) for one in raw]
    if hidden[1] is not None:
        text = f"{counted(hidden[0], 'line')} more than can be read; all are in the iteration's worker.jsonl"
        plain.insert(0, Entry(hidden[1].at, Kind.RAW, "", text, Role.FAINT, 1))
    return list(heapq.merge(entries, plain, key=lambda entry: entry.at))


def _raw(one: StreamLine) -> Entry:
    text = safe_line(one.text, BODY) + (f" … {counted(one.cut, 'byte')} more" if one.cut else "")
    word = {"stderr": "err", "harness": "proctor", "watch": "file"}.get(one.source, "")
    return Entry(one.at, Kind.RAW, word, text, Role.DIM, 2)


def _protocol(one: StreamLine) -> Entry | None:
    try:
        said = json.loads(one.text)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        return _raw(one)
    match one.event:
        case "tool":
            arguments = said.get("input")
            text = main_argument(arguments)[1] if isinstance(arguments, dict) else str(arguments or "")
            name = safe_line(str(said.get("name") or "tool"), 12)
            return Entry(one.at, Kind.WORKER, name, safe_line(text, BODY))
        case "note":
            return Entry(one.at, Kind.WORKER, "says", safe_line(str(said.get("text") or ""), BODY), rows=4)
        case "result" if not said.get("ok"):
            return Entry(one.at, Kind.WORKER, "failed", safe_line(str(said.get("output") or ""), BODY), Role.DIM)
        case "trouble":
            return Entry(one.at, Kind.WORKER, "trouble", safe_line(str(said.get("text") or ""), BODY), Role.ATTENTION)
        case _:
            return None  # usage moves the gauges; claims and questions have rows of their own
