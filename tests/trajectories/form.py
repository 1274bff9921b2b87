"""Recorded trajectories: what a file of them holds, and reading and writing it. README.md describes the format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from proctor.words import Dimension

Id = int | str
Number = int | float


class Label(StrEnum):
    """What a person who knows how the run was made says of it."""

    HEALTHY = "healthy"
    STUCK = "stuck"


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool call and what it came to; `result` is None where nobody told. A `denied` one is a request that was."""

    tool: str
    input: dict[str, Any] = {}
    result: Any = None
    digest: str = ""
    error: bool | str = False
    ms: Number = 0
    batch: int | None = None
    denied: bool = False

    @property
    def failed(self) -> bool:
        return bool(self.error)

    @property
    def said(self) -> str | None:
        """The output; of an error that is told in words, these."""
        said = self.error if self.result is None and isinstance(self.error, str) and self.error else self.result
        return said if said is None or isinstance(said, str) else msgspec.json.encode(said, order="sorted").decode()


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a check said."""

    verdict: str
    phase: str = "work"
    task: Id | None = None
    check: str = ""
    failing: tuple[str, ...] = ()
    failures: int = 0
    digest: str = ""
    message: str = ""


class Aside(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task that was set aside after an iteration, and why."""

    task: Id
    why: str = ""
    status: str = "blocked"


class Spend(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one iteration used: tokens, micro-dollars, tool calls, active milliseconds."""

    tokens: Number = 0
    micro: Number = 0
    calls: Number = 0
    ms: Number = 0

    def of(self, dimension: Dimension) -> Number:
        of = {Dimension.TOKENS: self.tokens, Dimension.COST: self.micro, Dimension.TOOL_CALLS: self.calls}
        return {**of, Dimension.WALL_CLOCK: self.ms}.get(dimension, 0)


class Iteration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="iteration"):
    """One line of a trajectory."""

    iteration: int
    task: Id = 1
    how: str = "exited"
    hindered: str = ""
    before: str = ""
    tree: str = ""
    files: int | None = None
    lines: int = 0
    verdicts: tuple[Verdict, ...] = ()
    done: bool | None = None
    events: tuple[Call, ...] = ()
    spend: Spend = Spend()
    aside: tuple[Aside, ...] = ()
    reset: bool = False

    @property
    def verified(self) -> bool:
        """Whether the task was verified; where the line does not say, whether its last verdict is a pass."""
        if self.done is not None:
            return self.done
        work = [one.verdict for one in self.verdicts if one.phase in ("work", "repeat")]
        return bool(work) and work[-1] == "passed"

    @property
    def changed(self) -> bool:
        """Whether files changed: by the trees, else by their number, else by the lines."""
        if self.before and self.tree:
            return self.before != self.tree
        return (self.lines if self.files is None else self.files) > 0


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="trajectory"):
    """The first line."""

    label: Label
    version: int = 1
    name: str = ""
    shape: str = ""
    about: str = ""
    stuck_from: int | None = None
    seed: int | None = None
    limits: dict[str, Number] = {}
    windows: dict[str, int] = {}


class Trajectory(msgspec.Struct, frozen=True):
    """A recorded run."""

    header: Header
    iterations: tuple[Iteration, ...]

    @property
    def is_stuck(self) -> bool:
        return self.header.label is Label.STUCK

    @property
    def stuck_from(self) -> int:
        """The iteration from which on nothing is gained; the first one where a stuck run does not say."""
        first = self.iterations[0].iteration if self.iterations else 1
        return self.header.stuck_from or first

    @property
    def tokens(self) -> Number:
        return sum(one.spend.tokens for one in self.iterations)


class Malformed(Exception):
    """A file that is no trajectory: which, and why in one line."""


def read(path: Path) -> Trajectory:
    """The trajectory of a file. Unknown keys are left alone, empty lines too; raises `Malformed`."""
    lines = [line for line in path.read_bytes().splitlines() if line.strip()]
    try:
        header = _as(Header, lines[0], "trajectory")
        found = _joined(_as(Iteration, line, "iteration") for line in lines[1:])
    except (msgspec.MsgspecError, IndexError, ValueError, TypeError) as error:
        raise Malformed(f"{path}: {error}") from None
    if not header.name:
        header = msgspec.structs.replace(header, name=path.stem)
    return Trajectory(header, found)


def files(folders: Iterable[Path]) -> Iterator[Path]:
    """The files of folders, and of all below them, in the order of their names."""
    for folder in folders:
        yield from [folder] if folder.is_file() else sorted(folder.rglob("*.jsonl"))


def _joined(lines: Iterable[Iteration]) -> tuple[Iteration, ...]:
    """Where a line does not say which tree its worker found, it is the one that the line before left."""
    made: list[Iteration] = []
    for one in lines:
        left = made[-1].tree if made else ""
        made.append(one if one.before else msgspec.structs.replace(one, before=left))
    return tuple(made)


def write(path: Path, trajectory: Trajectory) -> None:
    """Write a file of it."""
    rows = (trajectory.header, *trajectory.iterations)
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


T = TypeVar("T")


def _as(kind: type[T], line: bytes, word: str) -> T:
    """A line as `kind`; a value of null is one that is not there."""
    data = msgspec.json.decode(line)
    if not isinstance(data, dict):
        raise ValueError(f"a line is no object: {line[:60]!r}")
    if data.get("kind", word) != word:
        raise ValueError(f"a line of kind {data['kind']!r} where {word!r} belongs")
    return msgspec.convert({**_without_null(data), "kind": word}, kind)


def _without_null(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value is not None}
