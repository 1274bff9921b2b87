"""The tasks: where each stands, what the worker claims, what the check said, and never the one for the other."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.journal.state import TaskState
from proctor.text import safe_line
from proctor.tui import format as fmt
from proctor.tui.glyphs import CLAIM, CURRENT, CURRENT_BEAT, TASK
from proctor.tui.spans import Line, Role, cut, line, spread, width, wrap
from proctor.tui.view import View
from proctor.tui.wording import ASKED_LATER, reason, stands
from proctor.units import counted
from proctor.words import DROPPED, Dimension, TaskStatus

WORDED = 26
"""Cells of a title and its word from which both are always shown."""
_ROLE = {
    TaskStatus.DONE: Role.TEXT,
    TaskStatus.PENDING: Role.TEXT,
    TaskStatus.FAILED: Role.TEXT,
    TaskStatus.BLOCKED: Role.DIM,
    TaskStatus.REVIEW: Role.ATTENTION,
}


def tasks(view: View, room: int, *, detail: bool = False) -> list[Line]:
    """One line a task and, for the one at work (for all, with `detail`), what is known of it."""
    state = view.state
    if state is None:
        return []
    if not state.tasks:
        return [line(("No task yet.", Role.DIM)), line(("Write tasks.json, or `- [ ]` items", Role.DIM)),
                line(("in PLAN.md; `proctor check` reads them.", Role.DIM))]  # fmt: skip
    return [row for _, rows in _blocks(view, room, detail) for row in rows]


def position(view: View, room: int, *, detail: bool = False) -> int:
    """The row of the task at work, to keep it in sight."""
    before = 0
    for task, rows in _blocks(view, room, detail):
        if task.id == view.current:
            return before
        before += len(rows)
    return 0


def unseen(view: View, room: int, first: int, height: int, *, detail: bool = False) -> str:
    """How many tasks begin above the rows that are seen, and how many below; empty where none does."""
    above = below = row = 0
    for _, rows in _blocks(view, room, detail):
        above, below = above + (row < first), below + (row >= first + height)
        row += len(rows)
    cut_off = 1 if not below and row > first + height else 0
    marks = (f"↑ {above} above" if above else "", f"↓ {below} more" if below else "↓" if cut_off else "")
    return " · ".join(filter(None, marks))


def _blocks(view: View, room: int, detail: bool) -> Iterator[tuple[TaskState, list[Line]]]:
    """Each task with its rows."""
    known = view.state.tasks if view.state else ()
    digits = min(6, max((len(str(task.id)) for task in known[:200]), default=1))
    worded = _worded(known, room - digits - 3)
    for task in known:
        rows = [_head(view, task, room, digits, worded=worded)]
        if task.id == view.current or (detail and task.status is not TaskStatus.PENDING):
            rows += _about(view, task, room, digits + 3, detail=detail)
        elif task.status is TaskStatus.REVIEW:
            rows += _asked(view, task, room, digits + 3)
        yield task, rows


def _worded(known: tuple[TaskState, ...], room: int) -> bool:
    """Whether `passed` stands beside every title: in a narrow panel the titles come first, and the glyph says it."""
    if room >= WORDED:
        return True
    return all(len(task.task) + width(_word(task)) + 2 <= room for task in known[:200])


def _head(view: View, task: TaskState, room: int, digits: int, *, worded: bool) -> Line:
    current = task.id == view.current
    glyph, role = TASK[task.status], _ROLE[task.status]
    if current:
        beat = view.beating and view.now.second % 2
        glyph, role = CURRENT_BEAT if beat else CURRENT, Role.STRONG
    elif task.status is TaskStatus.DONE:
        role = Role.DIM
    mark = Role.GOOD if task.status is TaskStatus.DONE else role
    number = safe_line(str(task.id), 6).rjust(digits)
    left = line((glyph, mark), (f" {number} ", Role.DIM), (safe_line(task.task, 300), role))
    word = _word(task) if worded or task.status in (TaskStatus.BLOCKED, TaskStatus.REVIEW) else ()
    return spread(cut(left, room - width(word) - 2 * bool(word), within=True), word, room, gap=2)


def _word(task: TaskState) -> Line:
    """The last word on a task: its verdict, unless its status says more."""
    said = stands(task)
    if task.status is TaskStatus.DONE:
        return line((said, Role.GOOD))
    return line((said, Role.DIM if task.taken_back else _ROLE[task.status])) if said != "open" else ()


def _about(view: View, task: TaskState, room: int, indent: int, *, detail: bool) -> list[Line]:
    """The claim, then what the check said, and which came first."""
    blank = " " * indent
    current = task.id == view.current
    found: list[Line] = []
    if task.claim and task.status is not TaskStatus.DONE:
        judged = not current or (
            task.last is not None and view.state is not None and task.last.iteration >= view.state.iteration
        )
        answer = f"check: {task.verdict}" if judged and task.verdict else "not judged"
        said, mark, end = safe_line(task.claim, 20), (f"{CLAIM} ", Role.DIM), (f", {answer}", Role.DIM)
        claim = line(mark, (f"claims {said}", Role.TEXT), end)
        brief = line(mark, (said, Role.TEXT), end)
        found.append(line(blank, cut(claim if width(claim) <= room - indent else brief, room - indent)))
    if task.failed and task.status is not TaskStatus.DONE:
        attempt = f" · try {task.iterations}" if current else ""
        found.append(line(blank, (f"failed {fmt.times(task.failed)}{attempt}", Role.DIM)))
    why = reason(task.why) if task.why else ""
    why = why or (task.last.reason if task.last and task.status is not TaskStatus.DONE else "")
    if why and why != DROPPED:
        found.extend(line(blank, (row, Role.DIM)) for row in wrap(safe_line(why, 300), room - indent, 2))
    if detail and (effort := _effort(task)):
        found.append(line(blank, (effort, Role.FAINT)))
    return found


def _asked(view: View, task: TaskState, room: int, indent: int) -> list[Line]:
    """Why a task needs a person, and when that is asked."""
    asked = (one.id for one in view.requests if one.opened.task == task.id)
    when = next((f"asked as #{one}" for one in asked), ASKED_LATER)
    said = ": ".join(filter(None, (when, reason(task.why))))
    return [line(" " * indent, (row, Role.DIM)) for row in wrap(said, room - indent, 3)]


def _effort(task: TaskState) -> str:
    """What a task has taken so far."""
    parts = [counted(task.iterations, "iteration")] if task.iterations else []
    for dimension in (Dimension.TOKENS, Dimension.COST, Dimension.WALL_CLOCK):
        if spent := task.spent.get(dimension):
            label = " tokens" if dimension is Dimension.TOKENS else ""
            parts.append(fmt.amount(dimension, spent) + label)
    return " · ".join(parts)
