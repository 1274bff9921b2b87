"""The task list: `tasks.json`, or the `- [ ]` items of the plan.

What is read here are the tasks and their checks. Their status is the harness's: a `"status": "done"` in the
file or a ticked box proves nothing and is not looked at.
"""

from __future__ import annotations

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
from proctor.contract.values import REPEATS, TIMEOUT, argv, program
from proctor.contract.wrong import Wrong, nearest, of_type, only, spoken, unknown_key
from proctor.errors import UsageError
from proctor.journal.events import CheckFact, TaskFact
from proctor.text import safe_line
from proctor.words import Dimension
from proctor.workspace import files, lines

_LARGEST_ID = 2**53
_LONGEST = 40
"""Digits of a whole number; more of them say nothing that is needed here, and take long to read."""
_NOT_JSON = {
    "Expecting value": "a value is missing: no comment and no comma after the last item may stand there",
    "Extra data": "more follows after its end; the tasks are one list, in [ ]",
    "Invalid control character at": "a line break or tab inside a text; write \\n or \\t",
}
_MOST = 20
"""Faults that are told at once."""
_ITEM = re.compile(r"( *)(?:[-*+]|[0-9]{1,9}[.)]) +\[[ xX]\] +(\S.*)")
_FENCE = re.compile(r" *(`{3,}|~{3,})")


class _Check(msgspec.Struct):
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
    "run": lambda words: () if words is msgspec.UNSET else program(words),
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
    task: Annotated[str, msgspec.Meta(min_length=1, max_length=10_000)]
    spec: str | None = None
    check: dict[str, Any] | list[dict[str, Any]] | None = None


_MISSING: dict[tuple[str | int, ...], str] = {
    ("id",): "missing: a number or a word that no other task has",
    ("task",): "missing: what is to be done, in a sentence",
}
_KEYS = frozenset(_Task.__struct_fields__) | {"status", "verified_by", "commit", "note"}
_ELSEWHERE = dict.fromkeys(_Check.__struct_fields__, "check") | dict.fromkeys(
    [*Dimension, "budget", "limit", "on_exhaustion", "per_task", "per_iteration"], "the contract's budget, as per_task"
)
"""Keys that bound or prove something, but not here, and where they are at home: passed over, they would seem to."""


def source(workspace: Path, tasks_file: str, plan_file: str) -> str:
    """The name of the file that holds the task list: the plan only where there is no `tasks.json`."""
    return plan_file if files.read_optional(workspace, tasks_file) is None else tasks_file


def read(workspace: Path, tasks_file: str, plan_file: str, default: Sequence[CheckFact]) -> tuple[TaskFact, ...]:
    """The tasks in their order; those that name no check of their own get the `default` ones.

    UsageError when there is no list or any part of it is wrong: a line for each fault, naming file, line, task and key.
    """
    text = files.read_optional(workspace, tasks_file)
    if text is not None:
        return _tasks(workspace, tasks_file, text, default)
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
        if odd := next((key for key in tasks if key != "tasks" and nearest(key, ["tasks"], 0.8)), None):
            raise UsageError(f"{_where(name, text, (odd,))}: {safe_line(odd)}: {unknown_key(odd, ['tasks'])}")
        if "tasks" not in tasks:
            raise UsageError(f"{safe_line(name)}:1: tasks: missing; write a list of tasks, or one under this key")
        tasks = tasks["tasks"]
    if not isinstance(tasks, list):
        raise UsageError(f"{_where(name, text, ('tasks',))}: tasks: must be a list")
    if not tasks:
        raise UsageError(f"{_where(name, text, ('tasks',))}: tasks: empty; write at least one task")
    for at, task in enumerate(tasks):
        if not isinstance(task, dict):
            where = _where(name, text, _place(text, at))
            raise UsageError(f"{where}: task {at + 1}: must be an object with id, task and check")
    # As text, since an order names a task by what was typed: 14 and "14" would be one.
    words = [str(task.get("id")) for task in tasks if "id" in task]
    if twin := next((word for word, count in Counter(words).items() if count > 1), None):
        first, second, *_ = [at for at, task in enumerate(tasks) if str(task.get("id")) == twin]
        where = _where(name, text, _place(text, second, "id"))
        raise UsageError(f"{where}: id: {safe_line(twin)} is used by tasks {first + 1} and {second + 1}")
    return tasks


def headings(workspace: Path, tasks_file: str) -> list[str]:
    """`tasks.json:12: task 14` for each task of that file, in their order; nothing where there is none."""
    text = files.read_optional(workspace, tasks_file)
    if text is None:
        return []
    begin = {place[-1]: line for place, line in lines.places(text) if place[:-1] == _place(text, 0)[:-1]}
    name = safe_line(tasks_file)
    return [f"{name}:{begin[at]}: task {task.get('id')}" for at, task in enumerate(entries(tasks_file, text))]


def _place(text: str, at: int, *inside: str | int) -> lines.Place:
    """Where a task stands in the list, which may be under a key."""
    return (at, *inside) if text.lstrip().startswith("[") else ("tasks", at, *inside)


def _told(place: Sequence[str | int]) -> str:
    """A place of the list as it is spoken of."""
    inside = place[1:] if place[:1] == ("tasks",) else place
    at, *rest = inside or ("a key",)
    return ": ".join(filter(None, (f"task {at + 1}", spoken(rest)))) if isinstance(at, int) else spoken(inside or (at,))


def _where(name: str, text: str, place: Sequence[str | int]) -> str:
    return f"{safe_line(name)}:{lines.line_of(text, place)}"


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
        raise ValueError(f":{lines.line_of_token(text, word)}: {word} is not a number that JSON knows")

    def number(word: str) -> float:
        return value if math.isfinite(value := float(word)) else refuse(word)

    def whole(word: str) -> int:
        if len(word) > _LONGEST:
            where = lines.line_of_token(text, word)
            raise ValueError(f":{where}: a number of {len(word)} digits; write a shorter one")
        return int(word)

    def unlike(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            place, line = lines.twice(text) or ((), 1)
            raise ValueError(f":{line}: {_told(place)}: given twice in one object")
        return found

    shown = safe_line(name)
    if not text.strip():
        raise UsageError(f"{shown}:1: empty; write a list of tasks")
    try:
        value = json.loads(text, object_pairs_hook=unlike, parse_constant=refuse, parse_float=number, parse_int=whole)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        raise UsageError(f"{shown}:{error.lineno}: not JSON: {_NOT_JSON.get(error.msg, error.msg.lower())}") from error
    except UnicodeEncodeError as error:
        where = f"{shown}:{lines.line_of_half(text)}"
        raise UsageError(f"{where}: holds half of a character pair (\\ud800 to \\udfff)") from error
    except RecursionError as error:
        raise UsageError(f"{shown}: nested too deeply") from error
    except ValueError as error:
        raise UsageError(f"{shown}{safe_line(str(error))}") from error
    return value


def _tasks(workspace: Path, name: str, text: str, default: Sequence[CheckFact]) -> tuple[TaskFact, ...]:
    found: list[TaskFact] = []
    faults: list[str] = []
    for at, entry in enumerate(entries(name, text)):
        try:
            found.append(_task(workspace, entry, default))
        except Wrong as wrong:
            if len(faults) < _MOST:
                where = _where(name, text, _place(text, at, *wrong.place))
                faults.append(f"{where}: {safe_line(f'{_told((at, *wrong.place))}: {wrong.what}')}")
    if faults:
        raise UsageError("\n".join(faults if len(faults) < _MOST else [*faults, f"{safe_line(name)}: and maybe more"]))
    return tuple(found)


def _task(workspace: Path, entry: dict[str, Any], default: Sequence[CheckFact]) -> TaskFact:
    """A task as a fact. Raises `Wrong`."""
    for key in entry:
        home = _ELSEWHERE.get(key.removeprefix("max_"), "")
        if key not in _KEYS and (home or nearest(key, _KEYS, 0.8)):
            raise Wrong((key,), unknown_key(key, sorted(_KEYS), home))
    try:
        task = msgspec.convert(entry, _Task)
    except msgspec.ValidationError as error:
        wrong = of_type(error)
        raise Wrong(wrong.place, _MISSING[wrong.place] if wrong.what == "missing" else wrong.what) from error
    if isinstance(task.id, str) and (not task.id.isprintable() or task.id != task.id.strip()):
        raise Wrong(("id",), "should be a word that can be typed")
    if not task.task.strip():
        raise Wrong(("task",), "should not be empty")
    if "\0" in task.task:
        raise Wrong(("task",), "holds a character that no file name or command can hold")
    if task.spec:
        try:
            files.read(workspace, task.spec)
        except UsageError as error:
            raise Wrong(("spec",), error) from error
    if task.check == []:
        raise Wrong(("check",), "holds no check: write one, or leave the key out, so that progress.checks are used")
    if isinstance(task.check, list):
        own = [_check(one, "check", at) for at, one in enumerate(task.check)]
    else:
        own = [_check(task.check, "check")] if task.check is not None else []
    return TaskFact(id=task.id, task=task.task, spec=task.spec or None, checks=tuple(own) or tuple(default))


def _check(given: dict[str, Any], *place: str | int) -> CheckFact:
    """The check at a place of a task as a fact."""
    try:
        only(given, _Check.__struct_fields__)
        kinds.told("run", argv, given.get("run"))
        for key, why in kinds.idle(given):
            raise Wrong((key,), why)
        return _fact(msgspec.convert(given, _Check))
    except msgspec.ValidationError as error:
        raise of_type(error).within(*place) from error
    except Wrong as error:
        raise error.within(*place) from error


def _fact(check: _Check) -> CheckFact:
    given = {key: kinds.told(key, read, getattr(check, key)) for key, read in _READERS.items()}
    fact = CheckFact(optional=check.optional, allow_vacuous=check.allow_vacuous, **given)
    kinds.together(fact)
    return fact
