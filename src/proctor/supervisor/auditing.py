"""Measuring the checks: what was verified, with one part of its change taken out after the other, on copies of its own.

What a run showed is in `.proctor/audit/results.jsonl` before the next one begins, by trees, part and checks: whoever
goes on measures what is not there. Nothing here writes the journal or needs the supervisor.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from proctor.checkpoint.repository import Store
from proctor.contract.model import Contract
from proctor.errors import ProctorError, UsageError
from proctor.journal import events as ev
from proctor.journal.state import State, TaskState
from proctor.oracle import audit
from proctor.oracle.audit import KeyOf, Outcome, Part, Result
from proctor.oracle.check import Judgement, compare, judge, load_judgement
from proctor.oracle.frozen import Frozen, load_frozen
from proctor.oracle.moves.ask import Moves
from proctor.sandbox import space
from proctor.sandbox.running import Backend
from proctor.supervisor import policies
from proctor.supervisor.parts import Without, Work, ends, work_of
from proctor.supervisor.store import opened
from proctor.text import file_name, safe_line
from proctor.trees import remove_tree
from proctor.words import Phase, TaskStatus, Verdict

FOLDER, BENCH = "audit", "bench"
TELL_EVERY = 10.0
"""Seconds between rows of one task."""
WHOLE = "the whole"
CONTROLS = RUNS = 2
"""Runs on the whole verified tree before any part is taken out; runs without a part before it counts as noticed."""
MORE_CONTROLS = 3
"""Further ones where a part gave two answers."""
SLACK = 5.0
"""A run may take so many times what the slowest whole run took, and no less than `LEAST` seconds."""
LEAST = 10.0
IDLE = 2.0
"""Times a check's own timeout that it may take where everything else goes first."""
MOST_NAMED = 200
"""Places that a row names."""
AGAIN = 0.2
"""Seconds between tries to be the one that measures."""
_OPENED = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK

AFTER = (Phase.WORK, Phase.REPEAT, Phase.REGRESSION)
"""When a task's own checks run on its work."""
CLEAR = (Verdict.PASSED, Verdict.FAILED, Verdict.UNSTABLE)


class Spent(Exception):
    """The time for this is used up, or there is no room."""


class Results:
    """What was measured, in a file that grows by a line a part. One process at a time writes it: UsageError where
    another does for longer than the `patience`, in seconds, or where there is no such file to be had."""

    def __init__(self, folder: Path, patience: float = 0.0) -> None:
        place = folder / "results.jsonl"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(place, _OPENED, 0o600)
        except OSError as error:
            raise UsageError(f"{place}: {error.strerror}; move it away") from error
        try:
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise UsageError(f"{place}: this is no file; move it away")
            self._lock(folder, time.monotonic() + patience)
        except BaseException:
            os.close(self._file)
            raise
        self.known: dict[str, Result] = {}
        with open(self._file, "rb", closefd=False) as file:
            kept = file.read()
        for line in kept.split(b"\n"):
            with contextlib.suppress(msgspec.MsgspecError):
                one = msgspec.json.decode(line, type=Result)
                self.known[one.key] = one
        if kept and not kept.endswith(b"\n"):
            os.write(self._file, b"\n")  # what a killed writer left half is a line of its own

    def _lock(self, folder: Path, until: float) -> None:
        while True:
            try:
                return fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    where = folder.parent.parent
                    raise UsageError(f"{where}: another process measures the checks; see `proctor audit`") from None
                time.sleep(AGAIN)

    @property
    def seconds(self) -> float:
        """What all of it took."""
        return sum(one.seconds for one in self.known.values())

    def add(self, one: Result) -> None:
        """Spent where there is no room for it: no line is left half."""
        line, end = msgspec.json.encode(one) + b"\n", os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise Spent from error
        if written < len(line):
            os.ftruncate(self._file, end)
            raise Spent
        self.known[one.key] = one

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
    _tried: set[str] = field(init=False, default_factory=set)
    _low: space.Free = field(init=False)

    def __post_init__(self) -> None:
        frozen = load_frozen(self.folder / "oracle", self.state.oracle or None)
        if frozen is None:
            raise UsageError(f"{self.workspace}: nothing was frozen yet; `proctor run` begins")
        self.frozen = frozen
        self.store = opened(self.workspace, self.folder, self.contract.state, self.state.sandbox)
        self._low = space.low_water(now := space.free(self.folder))
        left = replace(now, bytes=now.bytes - space.written(self.workspace, 0.0))
        if said := space.shortage(left, self._low):
            raise UsageError(f"{self.folder}: there is no room for a copy of the workspace: {said}")

    def run(self, seconds: float) -> list[ev.Audited]:
        """Measure for so long; the rows, in the tasks' order. Unrecoverable where the oracle or the store is lost."""
        self._until = time.monotonic() + seconds
        found: list[ev.Audited] = []
        done = [task for task in self.state.tasks if is_verified(task)]
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
            remove_tree(self.folder / FOLDER / BENCH)
        return found

    # --- verified tasks -----------------------------------------------------------------------

    def _verified(self, task: TaskState) -> ev.Audited:
        row = ev.Audited(task=task.id, checkpoint=task.checkpoint or "")
        try:
            before, after = ends(self.store, self.state, task)
            key = KeyOf((before.tree, after.tree, audit.checks_digest(task.checks), self.frozen.rev))
            row = msgspec.structs.replace(row, of=audit.digest(*key.of))
            if (known := self._complete(row)) is not None:
                return known
            work = work_of(self.store, before, after, key, frozen=self.frozen, hidden=self.contract.state.hide)
        except ProctorError as error:
            return msgspec.structs.replace(row, why=f"its change cannot be had: {safe_line(str(error), 200)}")
        if not work.parts:
            return msgspec.structs.replace(row, why="there is nothing in its change that a check could see")
        why = ""
        try:
            why = self._measure(task, row, work)
        except Spent:
            pass
        except BaseException:
            self.said(self._row(row, work))  # whoever ends this has what is known so far
            raise
        return self._row(row, work, why)

    def _complete(self, row: ev.Audited) -> ev.Audited | None:
        """The journal's row of the same question, where nothing is left to be tried."""
        known = next((one for one in self.state.audited if one.task == row.task), row)
        same = (known.of, known.checkpoint) == (row.of, row.checkpoint)
        return known if same and known.parts and known.measured == known.parts else None

    def _measure(self, task: TaskState, row: ev.Audited, work: Work) -> str:
        """Take out what was not taken out yet; why nothing can be said, where that is so. Spent where time is up."""
        whole = self._control(task, work, CONTROLS)
        match whole.outcome:
            case Outcome.MISSED:
                return f"its check does not pass on what was verified any more: {whole.reason}"
            case Outcome.UNCLEAR:
                return f"its check gives no clear verdict on what was verified: {whole.reason}"
            case Outcome.FLAKY:
                return ""
        told = time.monotonic()
        for part in audit.order_of(work.parts, work.key):
            for one in (part, *audit.asked_of(part, self._without(task, work, part, whole))):
                self._without(task, work, one, whole)
            if time.monotonic() - told > TELL_EVERY:
                self.said(self._row(row, work))
                told = time.monotonic()
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
        """What the checks say of the whole verified tree, so many times. One that was unclear is asked anew."""
        known = self._whole(work)
        if known is None or known.outcome is Outcome.UNCLEAR:
            known = Result(audit.digest(*work.key.of, WHOLE), Outcome.CAUGHT)
        while len(known.verdicts) < runs:
            judged = self._run(task, work, None, None)
            known = known.after(judged.verdict, judged.seconds, judged.reason)
            self.results.add(known)
        return known

    def _whole(self, work: Work) -> Result | None:
        return self.results.known.get(audit.digest(*work.key.of, WHOLE))

    def _without(self, task: TaskState, work: Work, part: Part, whole: Result) -> Outcome:
        """What the checks say without a part. What was unclear is asked anew, once a run of this."""
        key = work.key(part)
        known = self.results.known.get(key)
        if known and (known.outcome is not Outcome.UNCLEAR or key in self._tried):
            return known.outcome
        self._tried.add(key)
        verdicts: list[Verdict] = []
        seconds, reason = 0.0, ""
        unchanged = None
        while (outcome := audit.without_part(verdicts, unchanged)) is None:
            judged = self._run(task, work, part if len(verdicts) < RUNS else None, whole.slowest)
            seconds += judged.seconds
            if judged.verdict is Verdict.INFRA and not judged.results:
                outcome, reason = Outcome.UNCLEAR, judged.reason  # there was no copy that a check could run on
                break
            if len(verdicts) < RUNS:
                verdicts.append(judged.verdict)
                reason = judged.reason
            else:
                unchanged = judged.verdict
        self.results.add(Result(key, outcome, tuple(verdicts), round(seconds, 3), reason))
        return outcome

    def _row(self, row: ev.Audited, work: Work, why: str = "") -> ev.Audited:
        whole = self._whole(work)
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
        key = audit.digest("open", audit.checks_digest(task.checks), self.frozen.rev)
        known = self.results.known.get(key)
        if known is None or known.outcome is Outcome.UNCLEAR:
            known = Result(key, Outcome.UNCLEAR)
        with contextlib.suppress(Spent):
            while good is not None and len(known.verdicts) < RUNS:
                judged = self._judge(task.checks, good.taken.commit, Without(self.store), None)
                known = known.after(judged.verdict, judged.seconds, judged.reason)
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
        before = load_judgement(self.folder / "checks" / f"baseline-{file_name(str(task.id))}")
        if before is None:
            return judged
        return compare(before, judged, Moves(self.store, self.frozen, before.commit, work.after))

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
            kept=self.folder / FOLDER / BENCH / "tree",
        )


def is_verified(task: TaskState) -> bool:
    """Whether a task has work that its checks were seen to pass on."""
    return task.status is TaskStatus.DONE and bool(task.checks)


def contradicted(rows: Iterable[ev.Row]) -> set[tuple[ev.TaskId | None, str]]:
    """Tasks and trees on which the same check both passed and did not."""
    seen: dict[tuple[ev.TaskId | None, str, str], set[bool]] = {}
    for row in rows:
        one = row.event
        if isinstance(one, ev.Judged) and one.phase in AFTER and one.tree and one.verdict in CLEAR:
            for of in (one.check, str(one.iteration)):
                seen.setdefault((one.task, one.tree, of), set()).add(one.verdict is Verdict.PASSED)
    return {(task, tree) for (task, tree, _), said in seen.items() if len(said) > 1}
