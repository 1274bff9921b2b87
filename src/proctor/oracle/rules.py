"""What a check asks for beside its exit code: the output, an artifact, JSON as a schema describes it.

A check may have left anything in its copy: no link is followed, nothing but a regular file is opened, and what is read
of it is bounded. What it is compared with is taken from the frozen set alone. Regular expressions, JSON and schemas
are weighed by a process of their own (`weigher.py`), since any of them can be made to cost time and memory.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from itertools import zip_longest
from pathlib import Path

import msgspec

import proctor
from proctor.errors import Unrecoverable
from proctor.journal.events import CheckFact
from proctor.journal.events.checks import Artifact, Schema
from proctor.oracle.frozen import Frozen, is_within
from proctor.oracle.toolchains.commands import named_paths
from proctor.sandbox.below import open_below, open_folder
from proctor.text import safe_line
from proctor.units import format_size
from proctor.words import Verdict

MOST = 8 << 20
"""Bytes of a file, an output or a page that are looked into; what is compared as a whole may be larger."""
SECONDS = 15.0
"""Time that the weighing may take, and no more than the check itself."""
_Question = dict[str, str]
_ROOT = str(Path(proctor.__file__).parents[1])
_PROGRAM = f"import sys; sys.path.insert(0, {_ROOT!r}); from proctor.oracle.weigher import main; main()"


class Broken(Exception):
    """A rule that does not hold, or cannot be weighed: its verdict, and why in one line."""

    def __init__(self, verdict: Verdict, reason: str) -> None:
        super().__init__(reason)
        self.verdict = verdict


@dataclass(frozen=True, slots=True)
class Text:
    """Something to look into. `name` as reasons call it; `cut`: there was more of it."""

    name: str
    data: bytes
    cut: bool = False

    def decoded(self) -> str:
        """The text for JSON; Broken where it is none."""
        self.whole()
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise failed(f"{self.name} is not UTF-8: byte 0x{self.data[error.start]:02x} at {error.start}") from None

    def whole(self) -> None:
        """Broken where some of it is missing."""
        if self.cut:
            raise failed(f"{self.name} is larger than {format_size(MOST)}")


def failed(reason: str) -> Broken:
    return Broken(Verdict.FAILED, reason)


def behind_link(argv: Sequence[str], tree: Path, workspace: Path, frozen: Frozen) -> str:
    """Why a check's own script or tests may be another's: a link on the way to what is not frozen; else nothing."""
    top = os.path.realpath(tree)
    for name in (name for name in named_paths(argv) if name and "\0" not in name):
        place = os.path.relpath(os.path.normpath(workspace / name), workspace)
        if place.startswith(".."):
            continue
        real = os.path.realpath(f"{top}/{place}")
        inside = real == top or real.startswith(f"{top}/")
        lies = os.path.relpath(real, top if inside else workspace)  # a link may name the place where the copy stands
        item = frozen.by_path.get(lies)
        held = (item is not None and item.link is None) or is_within(lies, (*frozen.roots, *frozen.borrowed))
        if lies not in (place, ".") and not lies.startswith("..") and not held and os.path.lexists(real):
            return f"{place} leads to {lies}, which is not frozen; put that under state.protect"
    return ""


def hold(check: CheckFact, output: Text, tree: Path, frozen: Frozen) -> None:
    """See that the rules about output and files hold in a tree in which the check has ended; Broken where not."""
    kept = {path: _kept(frozen, key, path, tree) for key, path in check.files.items()}
    rule = check.expected
    questions = _looked_into(output, rule.text, rule.regex)
    if rule.golden:
        output.whole()
        if not _same(io.BytesIO(output.data), len(output.data), *kept[rule.golden]):
            raise failed(f"{output.name} is not {rule.golden}{_where(output.data, kept[rule.golden][0])}")
    if rule.json:
        asked = {"kind": "json", "path": rule.json, "equals": rule.equals, "matches": rule.matches}
        questions.append({**asked, "name": output.name, "text": output.decoded()})
    if check.artifact:
        questions += _artifact(check.artifact, tree, kept)
    if check.schema:
        questions.append(_described(check.schema, output, tree, kept))
    weigh(questions, min(check.timeout, SECONDS))


def unusable(check: CheckFact, workspace: Path) -> Iterator[str]:
    """What a check compares with and cannot, with the key of each, as the workspace is now."""
    for key, path in check.files.items():
        is_read = False
        try:
            with opened(workspace, path) as file:
                text = _read(path, file).decoded() if key == "schema.schema" else ""
            is_read = True
            if text:
                weigh([{"kind": "schema", "schema": text, "by": path, "name": "", "text": "null"}], SECONDS)
        except Broken as broken:
            if not is_read or broken.verdict is not Verdict.FAILED:  # that null is not as it says is no fault of it
                yield f"{key}: {broken}"


def looks_like(page: Text, text: str, regex: str, seconds: float) -> None:
    """See that a page holds a text and matches an expression; Broken where not."""
    weigh(_looked_into(page, text, regex), seconds)


@contextmanager
def opened(tree: Path, path: str) -> Iterator[BufferedReader]:
    """A regular file of a tree that somebody else has filled; Broken where it is none, or lies behind a link."""
    try:
        top = open_folder(tree)
        try:
            place = open_below(top, tuple(path.split("/")))
        finally:
            os.close(top)
        if place is None:
            raise failed(f"{path} is not there")
        try:
            if not stat.S_ISREG(os.fstat(place).st_mode):
                raise failed(f"{path} is no regular file")
            fd = os.open(f"/proc/self/fd/{place}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        finally:
            os.close(place)
    except Unrecoverable:
        raise failed(f"{path} is a link, or behind one") from None
    except OSError as error:
        raise failed(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    with open(fd, "rb") as file:
        yield file


_Kept = tuple[Path, str]
"""Where a frozen file's bytes are, and their hash."""


def _kept(frozen: Frozen, key: str, path: str, tree: Path) -> _Kept:
    """What was frozen of a file that a check compares with; Broken where that is no file."""
    item = frozen.by_path.get(path)
    if item is not None and item.link is None:
        return frozen.content(item), item.digest
    if item is not None:
        why = "is a link; name the file that it leads to"
    elif os.path.isdir(tree / path) or any(is_within(other, (path,)) for other in frozen.by_path):
        why = "is a folder; name a file in it"
    elif path in frozen.skipped:
        why = "is no regular file; name one"
    else:
        why = "was not there when the checks were frozen; put it there, and under state.protect"
    raise Broken(Verdict.INFRA, f"{key}: {path} {why}")


def _artifact(rule: Artifact, tree: Path, kept: dict[str, _Kept]) -> list[_Question]:
    with opened(tree, rule.path) as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            raise failed(f"{rule.path} is empty")
        if rule.equals and not _same(file, size, *kept[rule.equals]):
            raise failed(f"{rule.path} is not {rule.equals}")
        if rule.differs and _same(file, size, *kept[rule.differs]):
            raise failed(f"{rule.path} is still {rule.differs}")
        return _looked_into(_read(rule.path, file), rule.text, rule.matches) if rule.text or rule.matches else []


def _described(rule: Schema, output: Text, tree: Path, kept: dict[str, _Kept]) -> _Question:
    with open(kept[rule.schema][0], "rb") as file:
        schema = _read(rule.schema, file)
    try:
        text = schema.decoded()
    except Broken as error:
        raise Broken(Verdict.INFRA, f"schema.schema: {error}") from None
    if rule.file:
        with opened(tree, rule.file) as file:
            output = _read(rule.file, file)
    return {"kind": "schema", "schema": text, "by": rule.schema, "name": output.name, "text": output.decoded()}


def _looked_into(text: Text, wanted: str, regex: str) -> list[_Question]:
    """See that a text is held; what is left to ask of an expression."""
    if (wanted and wanted.encode() not in text.data) or (regex and text.cut):
        text.whole()
        raise failed(f"{text.name} does not hold {wanted!r}")
    asked = {"kind": "regex", "regex": regex, "name": text.name, "text": text.data.decode("utf-8", "replace")}
    return [asked] if regex else []


def _read(name: str, file: BufferedReader) -> Text:
    file.seek(0)
    data = file.read(MOST + 1)
    return Text(name, data[:MOST], len(data) > MOST)


def _same(file: BufferedReader | io.BytesIO, size: int, other: Path, digest: str) -> bool:
    """Whether a file holds what another does, of which the hash is known. Only one as large is read."""
    file.seek(0)
    return size == other.stat().st_size and hashlib.file_digest(file, "sha256").hexdigest() == digest


def _where(data: bytes, other: Path) -> str:
    """The first line in which two texts differ."""
    with open(other, "rb") as file:
        lines = zip_longest(data.splitlines(keepends=True), _read("", file).data.splitlines(keepends=True))
        return next((f": line {at} differs" for at, (one, two) in enumerate(lines, 1) if one != two), "")


def weigh(questions: list[_Question], seconds: float) -> None:
    """Put questions to a process of its own; Broken at the first that is answered with no, or at none in time."""
    if not questions:
        return
    command = [sys.executable, "-I", "-c", _PROGRAM]
    asked = json.dumps(questions).encode()
    try:
        done = subprocess.run(command, input=asked, capture_output=True, timeout=seconds, cwd="/", env={}, check=False)
        answer = msgspec.json.decode(done.stdout, type=_Answer)
    except subprocess.TimeoutExpired:
        what = ", ".join(question["kind"] for question in questions)
        raise Broken(Verdict.TIMEOUT, f"weighing it ({what}) came to no end in {seconds:g} s") from None
    except (OSError, msgspec.MsgspecError):
        raise Broken(Verdict.INFRA, "it could not be weighed") from None
    if answer.verdict is not Verdict.PASSED:
        raise Broken(answer.verdict, safe_line(answer.reason, 400))


class _Answer(msgspec.Struct, frozen=True):
    verdict: Verdict
    reason: str = ""
