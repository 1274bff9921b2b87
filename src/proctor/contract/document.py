"""A YAML file as plain values that remember their lines.

Every scalar stays the text the person wrote (only a plain `null`, `~` or nothing is `None`): what it
means is for the key that holds it to say, so that `run: [sleep, 010]` or `limit: 1_000` are never
turned into another number on the way. Aliases and tags are refused: a contract needs neither, and
they are how small files become large ones or run code.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

LARGEST = 128 * 1024
"""Bytes of the largest file that is read; a contract is a page or two."""

_DEEPEST = 20
_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map")}
_NULLS = {"", "~", "null", "Null", "NULL"}

_HINTS = (
    ("mapping values are not allowed", "; a key ends with `: `, and a text that holds one goes in quotes"),
    ("cannot start any token", "; put a text that begins with it in quotes"),
    ("expected '<document start>'", "; write `key: value`, keys of one section with one indent"),
    ("could not find expected ':'", "; a key ends with `: `"),
)

Value = dict[str, "Value"] | list["Value"] | str | None
Place = tuple[str | int, ...]


class Unreadable(Exception):
    """The file cannot be read at all: `str()` says why, `line` is 0 where there is none."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


@dataclass
class Document:
    """What a file says: `root`, the line of every key and item, and what was wrong on the way."""

    root: Value = None
    lines: dict[Place, int] = field(default_factory=dict)
    problems: list[tuple[Place, int, str]] = field(default_factory=list)

    def line(self, path: Place) -> int:
        """The line of a key or an item, or of the nearest one around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def at(self, path: Place) -> Value:
        """The value at a path; `None` where there is none."""
        value = self.root
        for step in path:
            if isinstance(value, dict):
                value = value.get(str(step))
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return None
        return value


def read_bytes(path: Path, largest: int = LARGEST) -> bytes:
    """The bytes of a regular file of at most so many bytes; never hangs on a pipe or a device."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Unreadable("is not a plain file")
            content = file.read(largest + 1)
    except OSError as error:
        raise Unreadable(f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    if len(content) > largest:
        raise Unreadable(f"is larger than {largest // 1024} KiB, and should be a page or two")
    return content


def parse(content: bytes) -> Document:
    """Read one YAML document. Raises `Unreadable` where the text is not YAML; lesser faults are `problems`."""
    document = Document()
    events = _events(_decode(content))
    for event in events:
        if isinstance(event, yaml.DocumentEndEvent):
            break
        if not isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent | yaml.StreamEndEvent):
            document.root = _node(event, events, document, ())
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            document.problems.append(((), _line(event), "a second document starts here; a contract is one"))
            break
    return document


def _decode(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"is not UTF-8: byte 0x{content[error.start]:02x}; save it as UTF-8", line) from None


def _events(text: str) -> Iterator[yaml.Event]:
    try:
        yield from yaml.parse(text, Loader=yaml.SafeLoader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise Unreadable(f"holds the control character U+{ord(text[error.position]):04X}", line) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark else 0
        if "'\\t'" in (error.problem or ""):
            raise Unreadable("a tab; indent with spaces", line) from None
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        hint = next((hint for words, hint in _HINTS if words in reason), "")
        raise Unreadable(f"is not YAML: {' '.join(reason.split())}{hint}", line) from None


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


def _node(event: yaml.Event, events: Iterator[yaml.Event], document: Document, path: Place) -> Value:
    line = _line(event)
    document.lines.setdefault(path, line)
    if len(path) > _DEEPEST:
        raise Unreadable("is nested too deeply", line)
    if isinstance(event, yaml.AliasEvent):
        document.problems.append((path, line, f"*{event.anchor}: aliases are not read; write the value out"))
        return None
    tag = getattr(event, "tag", None)
    if tag not in (None, "!") and tag not in _PLAIN_TAGS:
        document.problems.append((path, line, f"the tag {tag!r} is not allowed; write a plain value"))
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event, document, path)
    if isinstance(event, yaml.SequenceStartEvent):
        return _sequence(events, document, path)
    return _mapping(events, document, path)


def _scalar(event: yaml.ScalarEvent, document: Document, path: Place) -> str | None:
    text = str(event.value)
    if event.style is None and text in _NULLS and event.tag is None:
        return None
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        document.problems.append((path, _line(event), "holds a character that no file name or command can hold"))
        return ""
    return text


def _sequence(events: Iterator[yaml.Event], document: Document, path: Place) -> list[Value]:
    items: list[Value] = []
    for event in events:
        if isinstance(event, yaml.SequenceEndEvent):
            break
        items.append(_node(event, events, document, (*path, len(items))))
    return items


def _mapping(events: Iterator[yaml.Event], document: Document, path: Place) -> dict[str, Value]:
    items: dict[str, Value] = {}
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            break
        if not isinstance(event, yaml.ScalarEvent):
            document.problems.append((path, _line(event), "a key must be a word"))
            _skip(event, events)
            _skip(next(events), events)
            continue
        key, line = str(event.value), _line(event)
        within = (*path, key)
        if key in items:
            document.problems.append((within, line, f"given twice, first on line {document.line(within)}"))
            _skip(next(events), events)
            continue
        document.lines[within] = line
        items[key] = _node(next(events), events, document, within)
    return items


def _skip(event: yaml.Event, events: Iterator[yaml.Event]) -> None:
    """Go past a value that has no place of its own."""
    _node(event, events, Document(), ())
