"""Measuring the checks on a real store: only what the checks say is scripted, by what is in the copy they are given."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer

import pytest

from proctor.contract.load import load
from proctor.errors import UsageError
from proctor.journal import checks
from proctor.journal import events as ev
from proctor.journal.store import Journal
from proctor.oracle.check import Judgement
from proctor.oracle.freeze import freeze
from proctor.sandbox.plain import Plain
from proctor.supervisor import auditing
from proctor.supervisor.auditing import Auditor, Results, contradicted
from proctor.supervisor.auditor import take
from proctor.supervisor.store import opened
from proctor.supervisor.timeline import Timeline
from proctor.words import CheckpointKind, Phase, TaskStatus, Verdict

CONTRACT = """\
goal: Try it
worker: {kind: command, command: ["true"]}
budget: {iterations: {limit: 9, on_exhaustion: park}}
progress: {checks: [{run: ["true"]}]}
state: {protect: [tests/], hide: [secrets/]}
"""
SAYS = Callable[[Path], Verdict]
PASSED, FAILED = Verdict.PASSED, Verdict.FAILED


class Bed:
    """A workspace with a session of one task, whose checks say what `says` makes of the copy."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.work, self.state = root / "w", root / "w" / ".proctor"
        (self.work / "tests").mkdir(parents=True)
        self.state.mkdir()
        self.write("proctor.yaml", CONTRACT)
        self.write("tests/t", "the oracle\n")
        self.contract = load(self.work)
        self.journal = Journal(self.state / "journal.db")
        self.store = opened(self.work, self.state, self.contract.state, "bwrap")
        self.timeline = Timeline(self.journal, self.store)
        self.says: SAYS = lambda _: PASSED
        self.runs = 0
        self.copies = root / "copy"
        monkeypatch.setattr(auditing, "judge", self._judge)

    def write(self, path: str, text: str | bytes) -> Path:
        place = self.work / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        return place

    async def begin(self, *tasks: int) -> None:
        frozen = freeze(self.work, self.state / "oracle", ["tests/"], [])
        checked = ev.CheckFact(run=("true",), timeout=30.0)
        facts = tuple(ev.TaskFact(id=one, task=f"task {one}", checks=(checked,)) for one in tasks or (1,))
        self.journal.append(
            ev.SessionStarted(session="s", workspace=str(self.work), goal=""),
            ev.OracleFrozen(rev=frozen.rev, files=1),
            ev.TasksLoaded(tasks=facts),
        )
        await self.timeline.checkpoint(CheckpointKind.START)

    async def verify(self, task: int = 1) -> None:
        await self.timeline.verified(await self.timeline.snapshot("after"), task, task)

    def audit(self, says: SAYS | None = None, seconds: float = 60.0) -> ev.Audited:
        """Measure as a process would that was just started; the row of the first task."""
        self.says = says or self.says
        self.runs = 0
        results = Results(self.state / "audit")
        try:
            state = self.journal.state()
            unsteady = contradicted(self.journal.rows(kinds=("judged",)))
            auditor = Auditor(self.work, self.state, self.contract, state, Plain(), results, self._said, unsteady)
            return auditor.run(seconds)[0]
        finally:
            results.close()

    def _said(self, row: ev.Audited) -> None:
        take(self.journal.append, self.journal.state(), row)

    def _judge(self, commit: str, *_: object, store: auditing.Without, **__: object) -> Judgement:
        self.runs += 1
        shutil.rmtree(self.copies, ignore_errors=True)
        store.materialise(commit, self.copies)
        verdict = self.says(self.copies)
        return Judgement(verdict, f"it {verdict}", seconds=0.5)


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bed]:
    bed = Bed(tmp_path, monkeypatch)
    yield bed
    bed.journal.close()


def holds(*texts: str) -> SAYS:
    """A check that wants each of some texts in the file `a`."""
    return lambda copy: PASSED if all(text in _text(copy / "a") for text in texts) else FAILED


def _text(place: Path) -> str:
    return place.read_text() if place.exists() else ""


def places(row: ev.Audited) -> list[str]:
    return [one.where for one in row.unverified]


async def two_hunks(bed: Bed) -> None:
    bed.write("a", "one\n" + "-\n" * 9 + "two\n")
    await bed.begin()
    bed.write("a", "ONE\n" + "-\n" * 9 + "TWO\n")
    await bed.verify()


async def test_the_hunk_that_nothing_verifies_is_named_and_the_others_count(bed: Bed) -> None:
    await two_hunks(bed)
    row = bed.audit(holds("ONE"))
    assert (row.caught, row.measured, row.parts) == (2, 3, 3)
    assert places(row) == ["a:11"]
    assert bed.runs == 2 + 2 + 2 + 1, "a pass is not repeated, a failure is"
    found = checks.report(bed.journal.state())
    assert found["caught"] == found["tasks"][0]["caught"] == 0.6667
    assert found["tasks"][0]["unverified"][0] | {"why": ""} == {"file": "a", "lines": [11, 11], "why": ""}
    assert checks.said(bed.journal.state()) == "checks catch 66%"


async def test_what_was_measured_is_not_measured_again_wherever_it_was_killed(bed: Bed) -> None:
    await two_hunks(bed)

    class Killed(BaseException):
        pass

    def killed_at(run: int) -> SAYS:
        def says(copy: Path) -> Verdict:
            if bed.runs == run:
                raise Killed
            return holds("ONE")(copy)

        return says

    lines = bed.state / "audit" / "results.jsonl"
    for run in itertools.count(4):
        try:
            row = bed.audit(killed_at(run))
            break
        except Killed:
            kept = lines.read_bytes()
            lines.write_bytes(kept + b'{"key": "half')
    assert places(row) == ["a:11"]
    assert (row.caught, row.measured) == (2, 3)
    assert bed.runs < run
    assert bed.audit() == row
    assert bed.runs == 0
    bed.journal.append(ev.Audited(task=1))
    assert bed.audit() == row, "the file says it too"
    assert bed.runs == 0


async def test_a_check_that_does_not_repeat_on_the_unchanged_tree_catches_nothing(bed: Bed) -> None:
    await two_hunks(bed)
    answers = itertools.cycle([PASSED, FAILED])
    row = bed.audit(lambda _: next(answers))
    assert row.flaky
    assert (row.caught, row.measured, row.parts) == (0, 3, 3)
    assert {one.why for one in row.unverified} == {"the check is flaky"}
    assert bed.runs == 2


async def test_a_part_without_which_the_check_gives_two_answers_is_not_caught_and_the_check_is_looked_at_again(
    bed: Bed,
) -> None:
    await two_hunks(bed)
    answers = itertools.cycle([FAILED, PASSED])

    def says(copy: Path) -> Verdict:
        text = _text(copy / "a")
        return FAILED if "ONE" not in text else PASSED if "TWO" in text else next(answers)

    row = bed.audit(says)
    assert not row.flaky
    assert (row.caught, row.measured) == (2, 3)
    assert [(one.where, one.why) for one in row.unverified] == [("a:11", "the check is flaky")]
    assert bed.runs == 2 + 3 * 2 + 3


async def test_verdicts_in_the_journal_that_contradict_each_other_make_a_check_flaky(bed: Bed) -> None:
    await two_hunks(bed)
    tree = bed.journal.state().checkpoints[-1].taken.tree
    for verdict in (FAILED, PASSED):
        bed.journal.append(ev.Judged(iteration=3, task=1, phase=Phase.REGRESSION, verdict=verdict, tree=tree))
    row = bed.audit(holds("ONE", "TWO"))
    assert row.flaky
    assert row.caught == 0


async def test_a_check_that_does_not_pass_any_more_or_gives_no_clear_verdict_says_so(bed: Bed) -> None:
    await two_hunks(bed)
    row = bed.audit(lambda _: Verdict.TIMEOUT)
    assert row.why.startswith("its check gives no clear verdict")
    assert (row.caught, row.measured, row.flaky) == (0, 0, False)
    row = bed.audit(lambda _: FAILED)
    assert row.why.startswith("its check does not pass on what was verified any more")
    assert checks.share(bed.journal.state()) is None


async def test_a_check_that_only_takes_too_long_without_a_part_catches_it_where_the_whole_is_quick(bed: Bed) -> None:
    await two_hunks(bed)

    def says(copy: Path) -> Verdict:
        return PASSED if "ONE" in _text(copy / "a") else Verdict.TIMEOUT

    row = bed.audit(says)
    assert (row.caught, row.measured) == (2, 3)


async def test_where_no_copy_can_be_made_nothing_is_measured(bed: Bed) -> None:
    await two_hunks(bed)
    row = bed.audit(lambda copy: PASSED if "ONE" in _text(copy / "a") else Verdict.INFRA)
    assert (row.caught, row.measured, row.parts) == (0, 1, 3)


async def test_a_thousand_hunks_are_sampled_within_the_time_and_the_next_run_goes_on(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{n}\n-\n-\n" for n in range(1000)]
    bed.write("a", "".join(lines))
    await bed.begin()
    bed.write("a", "".join(line.replace("\n", "!\n", 1) for line in lines))
    await bed.verify()
    clock = itertools.count()
    monkeypatch.setattr(auditing.time, "monotonic", lambda: float(next(clock)))
    row = bed.audit(lambda copy: PASSED if _text(copy / "a").count("!") == 1000 else FAILED, seconds=60)
    assert row.parts == 1001
    assert 5 < row.measured < 60
    assert row.caught == row.measured
    again = bed.audit(seconds=60)
    assert again.measured > row.measured


async def test_what_is_no_hunk_is_taken_out_as_a_whole(bed: Bed) -> None:
    bed.write("gone", "old\n")
    bed.write("tool", "x\n")
    bed.write("moved/from", "the same\n" * 9)
    bed.write("bin", b"\0\1")
    os.symlink("gone", bed.work / "link")
    await bed.begin()
    (bed.work / "gone").unlink()
    (bed.work / "tool").chmod(0o755)
    (bed.work / "moved").rename(bed.work / "there")
    (bed.work / "there/from").rename(bed.work / "there/to")
    bed.write("bin", b"\0\2")
    (bed.work / "link").unlink()
    os.symlink("tool", bed.work / "link")
    os.symlink("bin", bed.work / "newlink")
    bed.write(os.fsdecode(b"n\xe9w"), b"\0")
    await bed.verify()
    seen: list[dict[str, object]] = []

    def says(copy: Path) -> Verdict:
        found = {str(p.relative_to(copy)): p for p in copy.rglob("*") if not p.is_dir() or p.is_symlink()}
        seen.append(
            {
                n: os.readlink(p) if p.is_symlink() else (p.read_bytes(), p.stat().st_mode & 0o111)
                for n, p in found.items()
            }
        )
        assert (copy / "there").is_dir() == ("there/to" in found), "no folder is left empty"
        return PASSED

    row = bed.audit(says)
    whole, variants = seen[0], seen[2:]
    differ = [{n for n in {*whole, *one} if whole.get(n) != one.get(n)} for one in variants]
    assert sorted(map(sorted, differ)) == sorted(
        [["bin"], ["gone"], ["link"], ["moved/from", "there/to"], ["newlink"], [os.fsdecode(b"n\xe9w")], ["tool"]]
    )
    by = {min(paths): one for paths, one in zip(differ, variants, strict=True)}
    assert by["gone"]["gone"] == (b"old\n", 0)
    assert by["link"]["link"] == "gone"
    assert by["bin"]["bin"] == (b"\0\1", 0)
    assert by["tool"]["tool"] == (b"x\n", 0)
    assert (row.caught, row.measured) == (0, 7)
    assert {one.lines for one in row.unverified} == {(0, 0)}
    json.dumps(checks.report(bed.journal.state())).encode()


async def test_frozen_hidden_and_ignored_files_are_never_taken_out(bed: Bed) -> None:
    bed.write("secrets/key", "k\n")
    bed.write(".gitignore", "*.log\n")
    await bed.begin()
    for path in ("tests/t", "tests/new", "secrets/key", "run.log"):
        bed.write(path, "changed\n")
    await bed.verify()
    row = bed.audit()
    assert row.why == "there is nothing in its change that a check could see"
    assert bed.runs == 0


async def test_each_task_has_its_own_change_and_its_share_of_the_time(bed: Bed) -> None:
    await bed.begin(1, 2)
    bed.write("a", "ONE\n")
    await bed.verify(1)
    bed.write("b", "TWO\n")
    await bed.verify(2)
    bed.audit(holds("ONE"))
    one, two = checks.audits(bed.journal.state())
    assert (one.caught, two.caught) == (1, 0)
    assert places(two) == ["b:1"]


async def test_of_open_tasks_it_is_said_whether_their_checks_prove_something(bed: Bed) -> None:
    for says, vacuous, flaky in (([PASSED], True, False), ([FAILED], False, False), ([PASSED, FAILED], False, True)):
        if not bed.journal.state().session:
            await bed.begin()
        shutil.rmtree(bed.state / "audit", ignore_errors=True)
        answers = itertools.cycle(says)
        row = bed.audit(lambda _, answers=answers: next(answers))  # type: ignore[misc]
        assert (row.vacuous, row.flaky, row.checkpoint) == (vacuous, flaky, "")
        assert bed.journal.state().tasks[0].status is TaskStatus.PENDING
    entry = checks.report(bed.journal.state())["tasks"][0]
    assert (entry["caught"], entry["flaky"], entry["unverified"]) == (None, True, [])


async def test_two_processes_never_measure_at_once(bed: Bed) -> None:
    first = Results(bed.state / "audit")
    with pytest.raises(UsageError, match="another process measures"):
        Results(bed.state / "audit")
    later = Timer(0.1, first.close)
    later.start()
    Results(bed.state / "audit", patience=60).close()
    later.join()


def test_what_is_no_file_of_results_is_said_and_waited_for_by_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "results.jsonl")
    with pytest.raises(UsageError, match="no file; move it away"):
        Results(tmp_path)
    (tmp_path / "results.jsonl").unlink()
    (tmp_path / "results.jsonl").mkdir()
    with pytest.raises(UsageError, match="Is a directory; move it away"):
        Results(tmp_path)


async def test_on_a_full_disk_no_line_is_left_half_and_what_was_measured_stays(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    await two_hunks(bed)
    room, write = itertools.chain((1_000, 1_000, 20), itertools.repeat(0)), os.write

    def little(file: int, data: bytes) -> int:
        if not (left := next(room)):
            raise OSError(errno.ENOSPC, "full")
        return write(file, data[:left])

    with monkeypatch.context() as full:
        full.setattr(auditing.os, "write", little)
        row = bed.audit(holds("ONE"))
    assert len((bed.state / "audit/results.jsonl").read_text().splitlines()) == 2
    assert (row.caught, row.measured, row.parts) == (0, 0, 3)
    row = bed.audit()
    assert (row.caught, row.measured, row.parts) == (2, 3, 3)
