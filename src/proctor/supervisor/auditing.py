"""Measuring the checks: what was verified, with one part of its change taken out after the other, on copies of its own.

What a run showed is in `.proctor/audit/results.jsonl` before the next one begins, by trees, part and checks: whoever
goes on measures what is not there. Nothing here writes the journal or needs the supervisor.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from proctor.checkpoint.repository import Store
from proctor.contract.model import Contract
from proctor.errors import ProctorError, UsageError
from proctor.journal import events as ev
from proctor.journal.state import State, TaskState
from proctor.oracle import audit
from proctor.oracle.audit import Outcome, Part, Result
from proctor.oracle.check import Judgement, compare, judge, load_judgement
from proctor.oracle.frozen import Frozen, load_frozen
from proctor.sandbox import space
from proctor.sandbox.running import Backend
from proctor.supervisor import policies
from proctor.supervisor.parts import Without, Work, work_of
from proctor.supervisor.terms import opened
from proctor.text import safe_id, safe_line
from proctor.trees import remove_tree
from proctor.words import Phase, TaskStatus, Verdict

FOLDER = "audit"
CONTROLS = 2
"""Runs on the whole verified tree before any part is taken out."""
MORE_CONTROLS = 3
"""Further ones where a part gave two answers."""
OPEN_RUNS = 2
"""Runs of an open task's checks on what its work begins with."""
SLACK = 5.0
"""A run may take so many times what the slowest whole run took, and no less than `LEAST` seconds."""
LEAST = 10.0
IDLE = 2.0
"""Times a check's own timeout that it may take where everything else goes first."""
MOST_NAMED = 200
"""Places that a row names."""


AFTER = (Phase.WORK, Phase.REPEAT, Phase.REGRESSION)
"""When a task's own checks run on its work."""


class Spent(Exception):
    """The time for this is used up, or there is no room."""


class Results:
    """What was measured, in a file that grows by a line a part. One process at a time writes it: UsageError."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.open(folder / "results.jsonl", os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise UsageError(
                f"{folder.parent.parent}: another process measures the checks; see `proctor audit`"
            ) from None
        self.known: dict[str, Result] = {}
        with open(self._file, "rb", closefd=False) as file:
            for line in file:
                with contextlib.suppress(msgspec.MsgspecError):
                    one = msgspec.json.decode(line, type=Result)
                    self.known[one.key] = one
        os.write(self._file, b"\n")  # whatever a killed writer left half is a line of its own

    @property
    def seconds(self) -> float:
        """What all of it took."""
        return sum(one.seconds for one in self.known.values())

    def add(self, one: Result) -> None:
        self.known[one.key] = one
        os.write(self._file, msgspec.json.encode(one) + b"\n")

    def close(self) -> None:
        os.close(self._file)


@dataclass
class Auditor:
    """Measures one session's checks within some time. `said` is called with each task's row as it grows."""

    workspace: Path
    folder: Path
    contract: Contract
    state: State
    backend: Backend
    results: Results
    said: Callable[[ev.Audited], None]
    unsteady: Collection[tuple[ev.TaskId | None, str]] = ()
    """Tasks and trees of which the journal has verdicts that contradict each other."""
    store: Store = field(init=False)
    frozen: Frozen = field(init=False)
    _until: float = field(init=False, default=0.0)
    _share: float = field(init=False, default=0.0)
    _low: space.Free = field(init=False)

    def __post_init__(self) -> None:
        frozen = load_frozen(self.folder / "oracle", self.state.oracle or None)
        if frozen is None:
            raise UsageError(f"{self.workspace}: nothing was frozen yet; `proctor run` begins")
        self.frozen = frozen
        self.store = opened(self.workspace, self.folder, self.contract.state, self.state.sandbox)
        self._low = space.low_water(space.free(self.folder))

    def run(self, seconds: float) -> list[ev.Audited]:
        """Measure for so long; the rows, in the tasks' order. Unrecoverable where the oracle or the store is lost."""
        self._until = time.monotonic() + seconds
        found: list[ev.Audited] = []
        done = [task for task in self.state.tasks if task.status is TaskStatus.DONE and task.checks]
        unverified = [task for task in self.state.tasks if task.status is not TaskStatus.DONE and task.checks]
        try:
            for number, task in enumerate(done):
                left = self._until - time.monotonic()
                self._share = time.monotonic() + max(0.0, left) / (len(done) - number)
                found.append(self._verified(task))
                self.said(found[-1])
            self._share = self._until
            for task in unverified:
                if (row := self._open(task)) is not None:
                    found.append(row)
                    self.said(row)
        finally:
            remove_tree(self.folder / FOLDER / "bench")
        return found

    # --- verified tasks -----------------------------------------------------------------------

    def _verified(self, task: TaskState) -> ev.Audited:
        row = ev.Audited(task=task.id, checkpoint=task.checkpoint or "")
        try:
            work = work_of(self.store, self.state, self.frozen, task, self.contract.state.hide)
        except ProctorError as error:
            return msgspec.structs.replace(row, why=f"its change cannot be had: {safe_line(str(error), 200)}")
        if not work.parts:
            return msgspec.structs.replace(row, why="there is nothing in its change that a check could see")
        why = ""
        with contextlib.suppress(Spent):
            why = self._measure(task, work)
        return self._row(row, work, why)

    def _measure(self, task: TaskState, work: Work) -> str:
        """Take out what was not taken out yet; why nothing can be said, where that is so. Spent where time is up."""
        whole = self._control(task, work, CONTROLS)
        if whole.outcome is Outcome.MISSED:
            return f"its check does not pass on what was verified any more: {whole.reason}"
        if whole.outcome is Outcome.FLAKY:
            return ""
        known = self.results.known
        for part in audit.order_of(work.parts, work.key):
            self._without(task, work, part, whole)
            for block in audit.asked_of(part, known[work.key(part)].outcome):
                self._without(task, work, block, whole)
        if any(one.outcome is Outcome.FLAKY for one in self._of(work)):
            self._control(task, work, CONTROLS + MORE_CONTROLS)
        return ""

    def _of(self, work: Work) -> Iterator[Result]:
        """What is known of the parts."""
        for part in work.parts:
            for one in (part, *part.blocks):
                if found := self.results.known.get(work.key(one)):
                    yield found

    def _control(self, task: TaskState, work: Work, runs: int) -> Result:
        """What the checks say of the whole verified tree, so many times."""
        key = audit.digest(*work.key.of, "the whole")
        known = self.results.known.get(key) or Result(key, Outcome.CAUGHT)
        while len(known.verdicts) < runs:
            judged = self._run(task, work, None, None)
            verdicts = (*known.verdicts, judged.verdict)
            known = Result(
                key,
                audit.unchanged_tree(verdicts),
                verdicts,
                known.seconds + judged.seconds,
                known.reason if judged.verdict is Verdict.PASSED else judged.reason,
                max(known.slowest, judged.seconds),
            )
            self.results.add(known)
        return known

    def _without(self, task: TaskState, work: Work, part: Part, whole: Result) -> None:
        key = work.key(part)
        if key in self.results.known:
            return
        verdicts: list[Verdict] = []
        seconds, reason = 0.0, ""
        unchanged = None
        while (outcome := audit.without_part(verdicts, unchanged)) is None:
            if len(verdicts) < CONTROLS:
                judged = self._run(task, work, part, whole.slowest)
                verdicts.append(judged.verdict)
                reason = judged.reason
            else:
                judged = self._run(task, work, None, whole.slowest)
                unchanged = judged.verdict
            seconds += judged.seconds
        self.results.add(Result(key, outcome, tuple(verdicts), round(seconds, 3), reason))

    def _row(self, row: ev.Audited, work: Work, why: str) -> ev.Audited:
        whole = self.results.known.get(audit.digest(*work.key.of, "the whole"))
        outcomes = {key: one.outcome for key, one in self.results.known.items()}
        flaky = bool(whole and whole.outcome is Outcome.FLAKY) or (row.task, work.tree) in self.unsteady
        counted = audit.tally(work.parts, outcomes, work.key, steady=not flaky)
        seconds = sum(one.seconds for one in self._of(work)) + (whole.seconds if whole else 0.0)
        return msgspec.structs.replace(
            row,
            caught=counted.caught,
            measured=counted.measured,
            parts=counted.parts,
            flaky=flaky,
            why=why,
            unverified=counted.unverified[:MOST_NAMED],
            more=max(0, len(counted.unverified) - MOST_NAMED),
            seconds=round(seconds, 1),
        )

    # --- open tasks ---------------------------------------------------------------------------

    def _open(self, task: TaskState) -> ev.Audited | None:
        """Whether an open task's checks fail on what its work begins with, each time; None where nothing is known."""
        good = self.state.checkpoint(self.state.good)
        known = Result(audit.digest("open", audit.checks_digest(task.checks), self.frozen.rev), Outcome.MISSED)
        known = self.results.known.get(known.key, known)
        with contextlib.suppress(Spent):
            while good is not None and len(known.verdicts) < OPEN_RUNS:
                judged = self._judge(task.checks, good.taken.commit, Without(self.store), None)
                verdicts = (*known.verdicts, judged.verdict)
                outcome = audit.unchanged_tree(verdicts)
                known = Result(known.key, outcome, verdicts, known.seconds + judged.seconds, judged.reason)
                self.results.add(known)
        vacuous = task.baseline is not None and task.baseline.verdict is Verdict.VACUOUS
        flaky = known.outcome is Outcome.FLAKY or any(one == task.id for one, _ in self.unsteady)
        if not (known.verdicts or vacuous or flaky):
            return None
        vacuous |= known.outcome is Outcome.CAUGHT
        return ev.Audited(task=task.id, vacuous=vacuous, flaky=flaky, seconds=round(known.seconds, 1))

    # --- runs ---------------------------------------------------------------------------------

    def _run(self, task: TaskState, work: Work, part: Part | None, slowest: float | None) -> Judgement:
        """What the checks say of the verified tree, without a part, held against what they said before the work."""
        judged = self._judge(task.checks, work.after, Without(self.store, work, part), slowest)
        before = load_judgement(self.folder / "checks" / f"baseline-{safe_id(str(task.id))}")
        return compare(before, judged) if before is not None else judged

    def _judge(self, checks: tuple[ev.CheckFact, ...], commit: str, store: Without, slowest: float | None) -> Judgement:
        """Run checks; Spent where there is no time or no room for it."""
        if time.monotonic() > min(self._share, self._until):
            raise Spent
        if space.shortage(space.free(self.folder), self._low):
            raise Spent

        def limit(check: ev.CheckFact) -> float:
            most = check.timeout * IDLE
            return most if slowest is None else min(most, max(LEAST, slowest * SLACK))

        return judge(
            commit,
            self.frozen,
            [msgspec.structs.replace(check, timeout=limit(check)) for check in checks],
            store=store,
            backend=self.backend,
            policy=policies.for_check(self.workspace, self.contract),
            out=self.folder / FOLDER / "last",
            optional=False,
        )


def contradicted(rows: Iterable[ev.Row]) -> set[tuple[ev.TaskId | None, str]]:
    """Tasks and trees on which the same check both passed and did not."""
    passed: set[tuple[ev.TaskId | None, str]] = set()
    failed: set[tuple[ev.TaskId | None, str]] = set()
    for row in rows:
        if isinstance(one := row.event, ev.Judged) and one.phase in AFTER and one.tree and one.task is not None:
            if one.verdict is Verdict.PASSED:
                passed.add((one.task, one.tree))
            elif one.verdict in (Verdict.FAILED, Verdict.UNSTABLE):
                failed.add((one.task, one.tree))
    return passed & failed
