"""The brief: all that a fresh worker is told, rebuilt from durable state each time.

The order is fixed: plan, queue position, tail of the log, rulebook, then the one task with its spec and its
check. Words in it prove nothing, here or on their way back: only the check's verdict does.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from proctor.journal.events import CheckFact, Judged
from proctor.journal.plateau import PlateauState
from proctor.journal.state import TaskState
from proctor.text import safe_line
from proctor.units import format_duration
from proctor.words import Light, Rule, TaskStatus, Verdict

LOG_TAIL = 12_000
"""Characters of the log that a brief holds at most: some sixty entries."""
RULES_AGAIN = 4_000
"""Characters of the rulebook that a brief says a second time at most."""

_BEFORE, _AFTER = 3, 7
_FAILING = 20
_TITLE = 200
_BOXES = {TaskStatus.DONE: "x", TaskStatus.FAILED: "!", TaskStatus.BLOCKED: "-", TaskStatus.REVIEW: "?"}

_NARROW = """\
## Narrow scope

{why} Make the smallest change that lets the check pass, in as few files as possible.
No refactoring, no detours, no second attempt at what already works. If it cannot be done small, write down why
and end.
"""
_SCARCE = "Little is left of the budget."
_TOOK_MUCH = "This task has taken more than it should and is not verified."
_NUDGE = """\
## Change the approach

What was tried on this task does not move it ({rule}). What the harness measured:

{evidence}
Do not do the same again. Read the check and how it fails, write down in one line why it fails, and only then take a way
that differs in kind from those in the log, not in detail.{more}
"""
_NUDGES = {
    Rule.REVISIT: "The work goes to and fro: if two demands exclude each other, say which, and end.",
    Rule.NO_OP: "The last workers changed nothing: if something hinders you, say what it is, and end.",
}
_CIRCLE = """\
## Do not go round in circles

The last worker repeated itself until it was told or ended for it:

{evidence}"""
_EVIDENCE, _EVIDENCE_LINE = 8, 300
"""Lines of evidence, and characters of each."""
_REPAIR = """\
## First: repair what is broken

Before you started, the check that shows that the project works at all did not pass: {check}

{said}
{what}
"""
_FIRST = "Mend that first. The task counts only on a project that passes it."
_ONLY = (
    "Mend that, and nothing else: it is all that you are asked for now. The task comes after it: that its check fails "
    "before the work has first to be seen on a project that works, and what you do of it now counts for nothing."
)
_REGRESSED = """\
## It was verified before

This task's check has passed in this session and fails again: later work broke it. Find the change that did, and mend
it without losing what that change was for.
"""
_DRIFT = """\
## What the harness has measured

{told}"""
_RULES_AGAIN = """\
## The rulebook, once more

It holds for the whole project, not only for where the last workers were.

{rules}
"""
_RECORD = """\
[the log grew too much, or contradicts what was measured: this is the harness's own record, and little or none of it]
{lines}"""
_RECORDED = 40
"""Tasks that the harness's own record names."""
_ENDING = """\
## How it ends

Do this one task and none of the others, then end. The supervisor runs the check in a clean copy of your work with
the protected files as they were, and its verdict alone decides the status: saying "done" is recorded as a claim and
proves nothing, and statuses written into {tasks} are undone. If a test or the check itself seems wrong, neither bend
the code to it nor change it: write a line that begins with `conflict:` and says why at the end of {progress}, and the
operator decides. What the next worker must know (it will not remember
you), write as a few short lines at the end of {progress}.
"""


@dataclass(frozen=True, slots=True)
class BriefInputs:
    """What a brief is built from: texts of the files, the queue, and the task at hand, one of `tasks`. `stuck` is how
    the plateau rules stand: what they hold against this task is said once, in its next brief. `narrow`: a budget is
    near its ceiling. `drift` is what the lights of drift tell a worker; where the log is polluted, the harness's own
    record comes first and only so many characters of the log follow it."""

    goal: str
    plan: str
    tasks: tuple[TaskState, ...]
    log: str
    rules: str
    task: TaskState
    spec: str = ""
    notes: tuple[str, ...] = ()
    narrow: bool = False
    stuck: PlateauState = field(default_factory=PlateauState)
    broken: Judged | None = None
    drift: tuple[str, ...] = ()
    log_tail: int | None = None
    rules_again: bool = False
    tasks_file: str = "tasks.json"
    progress_file: str = "PROGRESS.md"


@dataclass(frozen=True, slots=True)
class Brief:
    """The text, its tokens, and which parts were shortened to fit."""

    text: str
    tokens: int
    shortened: tuple[str, ...] = ()


def build(inputs: BriefInputs, ceiling: int, count: Callable[[str], int]) -> Brief:
    """The brief, within `ceiling` tokens as `count` counts them.

    To fit, the log loses its older lines first, then the plan and the rulebook their ends, each leaving a marker.
    The queue position and the task part are never cut: a ceiling too small for them is exceeded.
    """
    files = {
        "log": inputs.log.strip() if inputs.log_tail is None else _record(inputs, inputs.log_tail),
        "plan": inputs.plan.strip(),
        "rulebook": inputs.rules.strip(),
    }
    parts = {**files, "log": _cut("log", files["log"], LOG_TAIL)}
    fixed = _queue(inputs), _task(inputs)
    text = _assemble(parts, *fixed)
    tokens = count(text)
    shortened = []
    for name, whole in files.items():
        least, slack = _cut(name, whole, 0), 16
        while tokens > ceiling and parts[name] != least:
            # Cut in proportion to what is too much; each pass is bolder, since tokens are not spread evenly.
            excess = (tokens - ceiling + slack) / max(count(parts[name]), 1)
            parts[name] = _cut(name, whole, int(len(parts[name]) * (1 - excess)))
            text = _assemble(parts, *fixed)
            tokens = count(text)
            slack *= 4
            if name not in shortened:
                shortened.append(name)
    return Brief(text, tokens, tuple(shortened))


def _assemble(parts: dict[str, str], queue: str, task: str) -> str:
    plan, log, rules = (parts[name] or "(empty)" for name in ("plan", "log", "rulebook"))
    return (
        f"# 1. The plan\n\n{plan}\n\n# 2. The queue\n\n{queue}\n\n# 3. The log, its last lines\n\n{log}\n\n"
        f"# 4. The rulebook\n\n{rules}\n\n{task}"
    )


def _cut(name: str, text: str, length: int) -> str:
    """The last (of the log) or first `length` characters, whole lines where that leaves any, and a marker.

    Text that is no longer than its marker stays.
    """
    length = max(length, 0)
    if name == "log":
        tail = text[max(len(text) - length, 0) :]
        kept = tail.partition("\n")[2] or tail
    else:
        kept = text[:length].rpartition("\n")[0] or text[:length]
    marker = f"[{len(text) - len(kept)} characters of the {name} left out]"
    if len(text) <= max(length, len(marker)):
        return text
    return (f"{marker}\n{kept}" if name == "log" else f"{kept}\n{marker}").strip("\n")


def _queue(inputs: BriefInputs) -> str:
    """Where the task stands: a count of every status, and its neighbours."""
    at = [task.id for task in inputs.tasks].index(inputs.task.id)
    counted = Counter(task.status for task in inputs.tasks)
    counts = ", ".join(f"{counted[status]} {status}" for status in TaskStatus if counted[status])
    first, last = max(at - _BEFORE, 0), min(at + 1 + _AFTER, len(inputs.tasks))
    lines = [
        f"Goal: {safe_line(inputs.goal)}",
        f"Task {inputs.task.id} is number {at + 1} of {len(inputs.tasks)}: {counts}.",
    ]
    for task in inputs.tasks[first:last]:
        box = ">" if task.id == inputs.task.id else _BOXES.get(task.status, " ")
        lines.append(f"- [{box}] {task.id}: {safe_line(task.task, _TITLE)}")
    if hidden := len(inputs.tasks) - (last - first):
        lines.append(f"({first} more before these, {hidden - first} more after)")
    return "\n".join(lines)


def _task(inputs: BriefInputs) -> str:
    """The part that is never cut."""
    task = inputs.task
    sections = [f"# 5. Your task: {task.id}\n\n{task.task.strip()}\n"]
    if inputs.spec.strip():
        sections.append(f"## Its spec ({safe_line(task.spec or '')})\n\n{inputs.spec.strip()}\n")
    if inputs.broken:
        what = _FIRST if task.known_to_fail else _ONLY
        sections.append(_REPAIR.format(check=safe_line(inputs.broken.check), said=_said(inputs.broken), what=what))
    if task.regressions:
        sections.append(_REGRESSED)
    sections.append("## Its check\n\n" + _checks(task.checks))
    if task.last and task.last.verdict is not Verdict.PASSED:
        sections.append(f"## What the last check said\n\n{_said(task.last)}")
    sections += _nudges(inputs.stuck, task)
    if inputs.drift:
        told = "".join(f"- {safe_line(line, _EVIDENCE_LINE)}\n" for line in inputs.drift)
        sections.append(_DRIFT.format(told=told))
    if inputs.notes:
        sections.append("## From the operator\n\n" + "".join(f"- {note.strip()}\n" for note in inputs.notes))
    if inputs.narrow or task.narrow:
        sections.append(_NARROW.format(why=_SCARCE if inputs.narrow else _TOOK_MUCH))
    sections.append(_ENDING.format(tasks=safe_line(inputs.tasks_file), progress=safe_line(inputs.progress_file)))
    if inputs.rules_again and inputs.rules.strip():
        sections.append(_RULES_AGAIN.format(rules=_cut("rulebook", inputs.rules.strip(), RULES_AGAIN)))
    return "\n".join(sections)


def _record(inputs: BriefInputs, tail: int) -> str:
    """What the journal holds of the tasks, without a word of a worker's; then so much of the log's end."""
    judged = [task for task in inputs.tasks if task.last is not None]
    lines = [
        f"- task {task.id} is {task.status}: {task.last.verdict} in iteration {task.last.iteration}"
        + (f": {safe_line(task.last.reason, _TITLE)}" if task.last.reason else "")
        for task in judged[-_RECORDED:]
        if task.last is not None
    ]
    record = _RECORD.format(lines="\n".join(lines) or "- no task was judged yet")
    return f"{record}\n{_cut('log', inputs.log.strip(), tail)}" if tail else record


def _said(last: Judged) -> str:
    """A verdict in its words, with the ids that fail."""
    failing = [f"- {safe_line(name)}\n" for name in last.failing[:_FAILING]]
    if len(last.failing) > _FAILING:
        failing.append(f"- and {len(last.failing) - _FAILING} more\n")
    reason = f"{last.verdict}: {safe_line(last.reason)}".removesuffix(": ")
    return f"{reason}\n{''.join(failing)}"


def _nudges(stuck: PlateauState, task: TaskState) -> list[str]:
    """What a worker is told of the plateau that its task is on, and of the circles that the last one ran in."""
    found = []
    if stuck.light is not Light.QUIET and stuck.rule and stuck.task in (None, task.id):
        more = f" {_NUDGES[Rule(stuck.rule)]}" if stuck.rule in _NUDGES else ""
        found.append(_NUDGE.format(rule=safe_line(stuck.rule), evidence=_evidence(stuck.evidence), more=more))
    if stuck.loop:
        found.append(_CIRCLE.format(evidence=_evidence(stuck.loop)))
    return found


def _evidence(lines: tuple[str, ...]) -> str:
    return "".join(f"- {safe_line(one, _EVIDENCE_LINE)}\n" for one in lines[:_EVIDENCE])


def _checks(checks: tuple[CheckFact, ...]) -> str:
    if not checks:
        return "None: a person will look at the result.\n"
    lines = []
    for check in checks:
        terms = [f"within {format_duration(int(check.timeout * 1000))}"]
        terms += ["optional"] if check.optional else []
        lines.append(f"    {shlex.join(check.run) or 'What has to hold'}    ({', '.join(terms)})\n")
        lines += [f"        {safe_line(told)}\n" for told in check.told]
    return "".join(lines)
