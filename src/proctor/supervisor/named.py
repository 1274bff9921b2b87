"""What workers are told about that is gone: paths, symbols and commands that were there and are no more."""

from __future__ import annotations

import hashlib
import json
import os
import re
from bisect import bisect
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from proctor.checkpoint.record import raw
from proctor.checkpoint.repository import Store
from proctor.journal.events import TaskId
from proctor.journal.state import TaskState
from proctor.progress.naming import LONGEST, Names, lines_that_take_leave, names, together
from proctor.supervisor.session import Session
from proctor.workspace import files

_DEFINES = re.compile(
    r"^[ \t]*(?:(?:export|pub(?:\([^)\n]*\))?|async|static|default|public|private|protected|abstract|final|unsafe"
    r"|extern)[ \t]+)*(?:def|class|function|func|fn|struct|enum|trait|interface|type|module|const|let|var"
    r"|macro_rules!)[ \t]+(?:\([^)\n]{0,80}\)[ \t]*)?\*?([A-Za-z_$][\w$]*)"
    r"|^([A-Za-z_$][\w$]*)[ \t]*(?::[^=\n]{0,80})?=(?!=)",
    re.MULTILINE,
)
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_TARGET = re.compile(r"^([\w./-]+)(?:[ \t]+[\w./-]+)*[ \t]*:(?!=)", re.MULTILINE)
_PROSE = (".md", ".rst", ".txt", ".adoc", ".lock", ".csv", ".svg")
_RECIPES = ("makefile", "gnumakefile", "justfile")


class _Line(NamedTuple):
    """A line of a plan: how deep it stands (None for one that is empty), the tasks that it is the item of, and what it
    names."""

    depth: int | None
    tasks: frozenset[TaskId]
    names: Names


@dataclass(frozen=True)
class Told:
    """All that tells workers what to do: the plan, and each task with its spec. `rev` names it."""

    plan: str
    tasks: tuple[tuple[TaskState, str], ...]

    @property
    def rev(self) -> str:
        told = [self.plan, *(part for task, spec in self.tasks for part in (str(task.id), task.task, spec))]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def of(self, task: TaskState) -> Names:
        """What a task is told about: by itself, its spec, and the lines of the plan that are not another task's."""
        spec = next((spec for one, spec in self.tasks if one.id == task.id), "")
        return together([names(f"{task.task}\n{spec}"), *self._common(task.id)])

    def _common(self, task: TaskId) -> Iterator[Names]:
        """What the plan names without the items of other tasks and what is indented below these."""
        inside: int | None = None
        for line in self._lines:
            if inside is not None and line.depth is not None and line.depth <= inside:
                inside = None
            if not line.tasks <= {task}:
                inside = line.depth
            if inside is None:
                yield line.names

    @cached_property
    def _lines(self) -> list[_Line]:
        titles = [(title, one.id) for one, _ in self.tasks if (title := one.task.strip())]
        return [
            _Line(
                len(line) - len(line.lstrip()) if line.strip() else None,
                frozenset(task for title, task in titles if title in line),
                names(line),
            )
            for line in self.plan[:LONGEST].splitlines()
        ]

    def may_go(self) -> Names:
        """What some line says is to be removed, renamed or replaced."""
        texts = [self.plan, *(part for task, spec in self.tasks for part in (task.task, spec))]
        return names(lines_that_take_leave(texts))


def told(s: Session) -> Told:
    """What workers are told now."""
    plan = files.read_optional(s.workspace, s.terms.contract.state.plan) or ""
    specs = ((task, (files.read_optional(s.workspace, task.spec) or "") if task.spec else "") for task in s.state.tasks)
    return Told(plan, tuple(specs))


# --- what is gone ---------------------------------------------------------------------------------


def gone_paths(s: Session, base: str, present: str, wanted: Collection[str]) -> list[str]:
    """Those of some paths, or bare names of files, that a checkpoint held and that are gone."""
    if not wanted:
        return []
    blobs = s.store.blobs(base, present)
    lost = sorted(path for path, blob in blobs.items() if blob is None and not there(s, path))
    files = set(lost)
    found = [
        path
        for path in wanted
        if (path in files and not there(s, path.removesuffix(".py"))) or (_held(lost, path) and not there(s, path))
    ]
    bare = {path for path in wanted if "/" not in path} - set(found)
    if bare & {path.rpartition("/")[2] for path in lost}:
        left = {entry.path.rpartition("/")[2] for entry in s.store.entries(present)}
        found += [name for name in bare if name not in left and any(path.endswith(f"/{name}") for path in lost)]
    return sorted(found)


def there(s: Session, path: str) -> bool:
    """Whether anything stands at a path of the workspace."""
    return os.path.lexists(os.path.join(os.fsencode(s.workspace), raw(path)))


def _held(paths: Sequence[str], folder: str) -> bool:
    """Whether any of some sorted paths lies in a folder."""
    at = bisect(paths, f"{folder}/")
    return at < len(paths) and paths[at].startswith(f"{folder}/")


def gone_words(store: Store, base: str, present: str, wanted: Names, but: Collection[str]) -> list[str]:
    """Those of some symbols, targets and scripts that a checkpoint defined and that nothing mentions any more. The
    files in `but` are prose about the work."""
    parts = {part: symbol for symbol in wanted.symbols for part in _WORD.findall(symbol)}
    if not parts and not wanted.targets and not wanted.scripts:
        return []
    pairs, _ = store.pairs(base, present, lambda path: path not in but and not path.lower().endswith(_PROSE))
    defined: set[str] = set()
    words: set[str] = set()
    targets: set[str] = set()
    scripts: set[str] = set()
    for pair in pairs:
        before, after = _text(pair.before), _text(pair.after)
        name = pair.path.rpartition("/")[2].lower()
        if name in _RECIPES:
            targets |= set(_TARGET.findall(before)) - set(_TARGET.findall(after))
        if name == "package.json":
            scripts |= _scripts(before) - _scripts(after)
        defined |= {one or other for one, other in _DEFINES.findall(before)} & parts.keys()
        words.update(_WORD.findall(after))
    lost = sorted(defined - words)
    changed = {pair.path for pair in pairs}
    prose = {entry.path for entry in store.entries(present) if entry.path.lower().endswith(_PROSE)} if lost else set()
    left = store.mentioned(present, lost, changed | prose | set(but), whole=True) if lost else set()
    found = {parts[word] for word in lost if word not in left}
    found |= {f"make {name}" for name in wanted.targets & targets} | {f"script {n}" for n in wanted.scripts & scripts}
    return sorted(found)


def _text(data: bytes | None) -> str:
    return "" if data is None or b"\0" in data[:8192] else data.decode("utf-8", "replace")


def _scripts(text: str) -> set[str]:
    try:
        found = json.loads(text or "{}").get("scripts", {})
    except (ValueError, AttributeError, RecursionError):
        return set()
    return set(found) if isinstance(found, dict) else set()
