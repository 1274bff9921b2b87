"""A look at the task list: enough to say whether there is something to do and something that proves it.

Reading the list for a session is the workspace's business; here a list that cannot be read says nothing.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.contract.document import Unreadable, read_bytes
from proctor.contract.kinds import is_on
from proctor.contract.state import State
from proctor.contract.wrong import nearest

_LARGEST = 8 * 1024 * 1024
_ITEM = re.compile(r"^ *(?:[-*+]|[0-9]{1,9}[.)]) +\[[ xX]\] +\S", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Queue:
    """`total` tasks; `checked` of them name a check of their own that decides. `specs` describe them.
    What is wrong with a list that is not `readable` is told where it is read."""

    total: int = 0
    checked: int = 0
    specs: tuple[str, ...] = ()
    readable: bool = True


def peek(workspace: Path, state: State) -> Queue:
    """The task list, else the items of the plan. Never raises."""
    tasks = workspace / state.tasks
    try:
        if os.path.lexists(tasks):
            return _of_list(read_bytes(tasks, _LARGEST))
        plan = workspace / state.plan
        text = read_bytes(plan, _LARGEST).decode() if os.path.lexists(plan) else ""
        return Queue(total=len(_ITEM.findall(text)))
    except (Unreadable, OSError, ValueError, RecursionError):
        return Queue(readable=False)


def _of_list(content: bytes) -> Queue:
    tasks = json.loads(content)
    tasks = tasks.get("tasks") if isinstance(tasks, dict) else tasks
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        return Queue(readable=False)
    if any(task.get("check") in ([], {}) or _misspelt(task) for task in tasks):
        return Queue(readable=False)
    return Queue(
        total=len(tasks),
        checked=sum(map(_decides, tasks)),
        specs=tuple(task["spec"] for task in tasks if isinstance(task.get("spec"), str)),
    )


def _misspelt(task: dict[str, Any]) -> bool:
    """Whether a check was meant and not understood, which is said where the list is read."""
    return not isinstance(task.get("check", {}), dict | list) or any(
        key != "check" and nearest(key, ["check"], 0.8) for key in task
    )


def _decides(task: dict[str, Any]) -> bool:
    checks = task.get("check")
    listed = checks if isinstance(checks, list) else [checks]
    return any(isinstance(check, dict) and check and not is_on(check.get("optional")) for check in listed)
