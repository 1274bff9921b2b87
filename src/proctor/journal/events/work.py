"""Events of an iteration: its intent, its worker, what that did, the verdict."""

from __future__ import annotations

from proctor.journal.events.base import Event, Figure, Finding, TaskId
from proctor.words import Dimension, IterationEnd, Phase, TaskStatus, Verdict


class Reserved(Event, frozen=True, tag="reserved"):
    """The task's share of every ceiling, set aside before its worker starts."""

    iteration: int
    task: TaskId
    amounts: dict[Dimension, int]


class Settled(Event, frozen=True, tag="settled"):
    """The reservation is closed: what the iteration really used."""

    iteration: int
    task: TaskId
    amounts: dict[Dimension, int]


class IterationStarted(Event, frozen=True, tag="iteration_started"):
    """The intent: written, pending, before the worker starts. `key` is the same for a repeated attempt, `tree` what the
    worker finds, `work` the same without ignored files; older rows have neither."""

    iteration: int
    task: TaskId
    key: str
    model: str | None = None
    narrow: bool = False
    tree: str = ""
    work: str = ""
    repair: bool = False
    """The smoke check failed on what the worker finds: to mend that comes first."""
    repair_only: bool = False
    """And is all that counts: the task's check has yet to be seen to fail, which says nothing on a broken project."""


class WorkerStarted(Event, frozen=True, tag="worker_started"):
    iteration: int
    pid: int


class Spent(Event, frozen=True, tag="spent"):
    """Session totals so far, coalesced to a few rows a second. Totals never fall: a fold takes the larger."""

    figures: dict[Dimension, Figure]


class ToolCalled(Event, frozen=True, tag="tool_called"):
    """Worker tool calls, coalesced: the last one's name and how many since the previous row."""

    iteration: int
    name: str
    count: int = 1


class ClaimRecorded(Event, frozen=True, tag="claim_recorded"):
    """What the worker said about a task, and why if it said so. Never evidence."""

    iteration: int
    task: TaskId
    status: str
    why: str = ""


class IterationEnded(Event, frozen=True, tag="iteration_ended"):
    """The worker and all it started are gone. Sizes are of this iteration's change to the tree. `work` is the tree
    without ignored files. `hindered` says what kept it from its models at its end: such an iteration tells nothing of
    the work."""

    iteration: int
    task: TaskId
    how: IterationEnd
    exit_code: int | None = None
    active_ms: int = 0
    files: int = 0
    lines: int = 0
    tree: str = ""
    work: str = ""
    detail: str = ""
    hindered: str = ""


class OperatorWrote(Event, frozen=True, tag="operator_wrote"):
    """Files that changed while the worker stood still: `mine` the operator alone has written in this iteration so far,
    `both` the worker too. From the watcher, so that some may be missing."""

    iteration: int
    mine: tuple[str, ...] = ()
    both: tuple[str, ...] = ()


class Judged(Event, frozen=True, tag="judged"):
    """A verdict. `reason` is one line, `failing` the failing ids if known, the first of `failures` where these are more
    than a row should hold; `digest` names the failure class.

    `seconds` is what the checks took, `act_seconds` what the worker took whose work was judged. `moved` are tests that
    are gone by their ids, each with the one that stands for it (`a -> b`).
    """

    iteration: int
    task: TaskId | None
    phase: Phase
    verdict: Verdict
    reason: str = ""
    failing: tuple[str, ...] = ()
    digest: str = ""
    tree: str = ""
    check: str = ""
    seconds: float = 0.0
    log: str = ""
    act_seconds: float = 0.0
    failures: int = 0
    moved: tuple[str, ...] = ()


class Regressed(Event, frozen=True, tag="regressed"):
    """The check of a verified task fails again, twice in a row: the task is open once more. `passed_in` is the
    iteration in which its check passed last, `checkpoint` the one to go back to for that."""

    iteration: int
    task: TaskId
    verdict: Verdict
    reason: str = ""
    passed_in: int = 0
    checkpoint: str = ""


class FalseClaim(Event, frozen=True, tag="false_claim"):
    """The worker said done and the check said no."""

    iteration: int
    task: TaskId
    verdict: Verdict


class Tampered(Event, frozen=True, tag="tampered"):
    """Frozen files that differed or files in their way that appeared; undone for the verdict.

    `kinds` says of each path what it was, in their order; older rows have none. `findings` show it by its hunks, and
    those of other files that no honest change would hold: these cannot be undone, and where there are any (`own`) a
    verdict `passed` may rest on them.
    """

    iteration: int
    task: TaskId | None
    paths: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    more: int = 0
    own: bool = False


class Suspected(Event, frozen=True, tag="suspected"):
    """What of an iteration's change looks as if it were made for the check and not for the task: to be looked at.

    `more` findings are not named; the iteration's folder has all of them.
    """

    iteration: int
    task: TaskId | None
    findings: tuple[Finding, ...]
    more: int = 0


class Quarantined(Event, frozen=True, tag="quarantined"):
    """What the operator's git would have obeyed and a worker had made: renamed, nothing lost.

    `paths` are the names that were, a `.git`, the HEAD of a bare repository, or what git would run. `now` are the names
    since, in the same order; journals of before have none. `more` are not named.
    """

    iteration: int
    paths: tuple[str, ...]
    now: tuple[str, ...] = ()
    more: int = 0


class Autorun(Event, frozen=True, tag="autorun"):
    """All files that differ from the session's start and that the operator's own tools run without being asked.

    `new` are those that the row before did not name.
    """

    iteration: int
    paths: tuple[str, ...]
    new: tuple[str, ...] = ()


class Exposed(Event, frozen=True, tag="exposed"):
    """Protected paths that lost their cover while the worker ran, or that it made: it could write them, or read hidden
    ones."""

    iteration: int
    paths: tuple[str, ...]


class TakenOver(Event, frozen=True, tag="taken_over"):
    """What stands in paths that were exposed is the operator's: he said so, or nothing of it had changed."""

    paths: tuple[str, ...]
    by: str = ""


class TaskDone(Event, frozen=True, tag="task_done"):
    """A task is verified: exactly one row per verification, written with its checkpoint in one transaction."""

    task: TaskId
    iteration: int
    checkpoint: str


class TaskCommitted(Event, frozen=True, tag="task_committed"):
    """A verified task is on the session branch: `commit` is in the operator's repository, and the branch has moved."""

    task: TaskId
    checkpoint: str
    commit: str


class TaskMoved(Event, frozen=True, tag="task_moved"):
    """A task's status changed for another reason than a verification."""

    task: TaskId
    status: TaskStatus
    why: str = ""
