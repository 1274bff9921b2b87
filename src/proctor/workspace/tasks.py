"""The task list: `tasks.json`, or the `- [ ]` items of the plan.

What is read here are the tasks and their checks. Their status is the harness's: a `"status": "done"` in the
file or a ticked box proves nothing and is not looked at.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from proctor.contract import kinds
from proctor.contract.values import REPEATS, TIMEOUT
from proctor.errors import UsageError
from proctor.journal.events import CheckFact, TaskFact
from proctor.text import safe_line
from proctor.workspace import files

_LARGEST_ID = 2**53
_ITEM = re.compile(r"( *)(?:[-*+]|[0-9]{1,9}[.)]) +\[[ xX]\] +(\S.*)")
_FENCE = re.compile(r" *(`{3,}|~{3,})")


class _Check(msgspec.Struct, forbid_unknown_fields=True):
    run: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] | msgspec.UnsetType = msgspec.UNSET
    timeout: str | int | float = "5m"
    optional: bool = False
    expect: Any = None
    allow_vacuous: bool = False
    repeat: int = 1
    artifact: Any = None
    schema: Any = None
    page: Any = None


_READERS: dict[str, Callable[[Any], Any]] = {
    "timeout": lambda written: TIMEOUT.read(written) / 1000,
    "repeat": REPEATS.read,
    "expect": kinds.expect,
    "artifact": kinds.artifact,
    "schema": kinds.schema,
    "page": kinds.page,
}


class _Task(msgspec.Struct):
    """The keys that are the operator's; the harness's own and unknown ones are not looked at."""

    id: (
        Annotated[int, msgspec.Meta(ge=-_LARGEST_ID, le=_LARGEST_ID)]
        | Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    )
    task: Annotated[str, msgspec.Meta(min_length=1)]
    spec: str | None = None
    check: _Check | list[_Check] | None = None


_KEYS = frozenset(_Task.__struct_fields__) | {"status", "verified_by", "commit", "note"}


def source(workspace: Path, tasks_file: str, plan_file: str) -> str:
    """The name of the file that holds the task list: the plan only where there is no `tasks.json`."""
    return plan_file if files.read_optional(workspace, tasks_file) is None else tasks_file


def read(workspace: Path, tasks_file: str, plan_file: str, default: Sequence[CheckFact]) -> tuple[TaskFact, ...]:
    """The tasks in their order; those that name no check of their own get the `default` ones.

    UsageError, naming file, place and key, when there is no list or any part of it is wrong.
    """
    text = files.read_optional(workspace, tasks_file)
    if text is not None:
        listed = enumerate(entries(tasks_file, text), 1)
        return tuple(_task(workspace, tasks_file, number, entry, default) for number, entry in listed)
    plan = files.read_optional(workspace, plan_file)
    titles = plan_items(plan or "")
    if not titles:
        lack = "not found" if plan is None else "holds no `- [ ]` item"
        raise UsageError(f"no tasks: {safe_line(tasks_file)} not found and {safe_line(plan_file)} {lack}; write one")
    return tuple(TaskFact(id=place, task=title, checks=tuple(default)) for place, title in enumerate(titles, 1))


def plan_revision(plan: str) -> str:
    """What tells one plan from another: the sha256 of its text."""
    return hashlib.sha256(plan.encode("utf-8")).hexdigest()


def entries(name: str, text: str) -> list[dict[str, Any]]:
    """The task objects of a `tasks.json`, as written; no id stands there twice."""
    tasks = _parse(name, text)
    if isinstance(tasks, dict):
        if "tasks" not in tasks:
            raise UsageError(f"{safe_line(name)}: tasks: missing; write a list of tasks, or one under this key")
        tasks = tasks["tasks"]
    if not isinstance(tasks, list):
        raise UsageError(f"{safe_line(name)}: tasks: must be a list")
    if not tasks:
        raise UsageError(f"{safe_line(name)}: tasks: empty; write at least one task")
    for place, task in enumerate(tasks, 1):
        if not isinstance(task, dict):
            raise UsageError(f"{safe_line(name)}: task {place}: must be an object with id, task and check")
    # As text, since an order names a task by what was typed: 14 and "14" would be one.
    words = [str(task.get("id")) for task in tasks if "id" in task]
    if twin := next((word for word, count in Counter(words).items() if count > 1), None):
        places = [str(place) for place, task in enumerate(tasks, 1) if str(task.get("id")) == twin]
        raise UsageError(f"{safe_line(name)}: id: {safe_line(twin)} is used by tasks {' and '.join(places[:2])}")
    return tasks


def plan_items(plan: str) -> list[str]:
    """The titles of a plan's `- [ ]` and `- [x]` items, outside code and comments.

    An item indented under another one is part of it and no task of its own.
    """
    titles: list[str] = []
    open_item: int | None = None
    for line in _prose(plan):
        indent = len(line) - len(line.lstrip(" "))
        if open_item is not None and indent <= open_item:
            open_item = None
        item = _ITEM.fullmatch(line)
        if item and open_item is None and (title := safe_line(item[2]).strip()):
            open_item = indent
            titles.append(title)
    return titles


def _prose(plan: str) -> Iterator[str]:
    """The lines that hold something, without fenced code and comments."""
    closing: re.Pattern[str] | None = None
    for raw in plan.splitlines():
        line = raw.expandtabs(4).rstrip()
        if closing:
            if closing.fullmatch(line):
                closing = None
        elif fence := _FENCE.match(line):
            closing = re.compile(rf" *{re.escape(fence[1][0])}{{{len(fence[1])},}}")
        elif line.lstrip().startswith("<!--"):
            closing = None if "-->" in line else re.compile(".*-->.*")
        elif line:
            yield line


def _parse(name: str, text: str) -> Any:
    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is not a number that JSON knows")

    def number(word: str) -> float:
        return value if math.isfinite(value := float(word)) else refuse(word)

    def unlike(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if twin := next((key for key, count in Counter(key for key, _ in pairs).items() if count > 1), None):
            raise ValueError(f"{twin}: given twice in one object")
        return dict(pairs)

    shown = safe_line(name)
    if not text.strip():
        raise UsageError(f"{shown}: empty; write a list of tasks")
    try:
        value = json.loads(text, object_pairs_hook=unlike, parse_constant=refuse, parse_float=number)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        raise UsageError(f"{shown}:{error.lineno}: not JSON: {error.msg.lower()}") from error
    except UnicodeEncodeError as error:
        raise UsageError(f"{shown}: holds half of a character pair (\\ud800 to \\udfff)") from error
    except RecursionError as error:
        raise UsageError(f"{shown}: nested too deeply") from error
    except ValueError as error:
        raise UsageError(f"{shown}: {safe_line(str(error))}") from error
    return value


def _task(workspace: Path, name: str, number: int, entry: dict[str, Any], default: Sequence[CheckFact]) -> TaskFact:
    def wrong(key: str, what: object) -> UsageError:
        return UsageError(": ".join(filter(None, (safe_line(name), f"task {number}", key, safe_line(str(what))))))

    for key in entry.keys() - _KEYS:
        if near := difflib.get_close_matches(key, _KEYS, 1, 0.8):
            raise wrong(safe_line(key), f"unknown key, nearest: {near[0]}")
    try:
        task = msgspec.convert(entry, _Task)
    except msgspec.ValidationError as error:
        what, _, key = str(error).partition(" - at `$.")
        raise wrong(safe_line(key.rstrip("`")), what) from error
    if task.spec:
        try:
            files.read(workspace, task.spec)
        except UsageError as error:
            raise wrong("spec", error) from error
    own = task.check if isinstance(task.check, list) else [task.check] if task.check else []
    try:
        checks = tuple(_fact(check) for check in own) or tuple(default)
    except ValueError as error:
        raise wrong("", f"check.{error}") from error
    return TaskFact(id=task.id, task=task.task, spec=task.spec or None, checks=checks)


def _fact(check: _Check) -> CheckFact:
    """The check as a fact. ValueError names the key that cannot be used."""
    run = () if check.run is msgspec.UNSET else check.run
    if run:
        kinds.program("run", run)
    given = {}
    for key, read in _READERS.items():
        try:
            given[key] = read(getattr(check, key))
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from error
    fact = CheckFact(
        run=run,
        optional=check.optional,
        allow_vacuous=check.allow_vacuous,
        **given,
    )
    kinds.together(fact)
    return fact
