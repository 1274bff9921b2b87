"""The log tells the stream and the journal in one form, and everything in it is safe."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as some
from msgspec.structs import replace

from proctor.journal import events as ev
from proctor.journal.events import kind_of
from proctor.journal.stream import Line
from proctor.tui.entries import BATCH, Entry, Kind, main_argument, merge
from proctor.tui.rows import KINDS, for_screen, from_row
from proctor.tui.spans import Role
from proctor.tui.stream import from_stream
from proctor.words import (
    CheckpointKind,
    Dimension,
    IterationEnd,
    Level,
    Phase,
    RequestKind,
    Response,
    Rule,
    SessionStatus,
    TaskStatus,
    Verdict,
)

T0 = datetime(2026, 11, 29, 14, 2, 11, tzinfo=UTC)


def raw(text: str, second: int = 0, source: str = "stdout", cut: int = 0) -> Line:
    return Line(T0 + timedelta(seconds=second), source, text, "", cut)


def said(event: str, **body: object) -> Line:
    return Line(T0, "stdout", json.dumps({"proctor": event, **body}), event)


def told(event: ev.Event) -> Entry | None:
    return from_row(ev.Row(seq=1, at=T0, token=1, event=event))


def harmless(text: str) -> bool:
    """Nothing in it moves a cursor, hides or reorders."""
    return not {unicodedata.category(char) for char in text} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


HOSTILE = "\x1b]0;owned\x07[bold red]markup[/]\x1b[2J\u202eevil\u200b\x9b1m" + "x" * 1_000_000


def test_s21_hostile_output_is_one_short_printable_line() -> None:
    for entry in (*from_stream([raw(HOSTILE)]), *from_stream([said("note", text=HOSTILE)])):
        assert entry.text.isprintable()
        assert len(entry.text) < 1_100
        assert "[bold red]markup[/]" in entry.text


@given(text=some.text(max_size=200), event=some.sampled_from(["", "tool", "note", "claim", "usage", "ask"]))
def test_no_line_of_a_stream_is_too_strange(text: str, event: str) -> None:
    for entry in from_stream([Line(T0, "stdout", text, event)]):
        assert harmless(entry.text)


def test_a_tool_call_shows_its_main_argument() -> None:
    (entry,) = from_stream([said("tool", name="shell", input={"timeout": 5, "command": "python -m unittest"})])
    assert (entry.word, entry.text, entry.kind) == ("shell", "python -m unittest", Kind.WORKER)
    assert main_argument({"argv": ["a", "b"]}) == ("", '{"argv": ["a", "b"]}')
    assert main_argument({"cmd": ["git", "push"]}) == ("cmd", "git push")
    assert main_argument({}) == ("", "")


def test_what_the_journal_says_better_is_not_said_twice() -> None:
    assert from_stream([said("claim", task=1, status="done"), said("ask", id="1"), said("usage", input=1)]) == []
    assert told(ev.ClaimRecorded(iteration=1, task=1, status="done")) is not None


def test_a_claim_and_a_verdict_never_look_alike() -> None:
    claim = told(ev.ClaimRecorded(iteration=1, task=3, status="done"))
    verdict = told(ev.Judged(iteration=1, task=3, phase=Phase.WORK, verdict=Verdict.PASSED))
    assert claim
    assert verdict
    assert claim.role is not Role.GOOD
    assert verdict.role is Role.GOOD
    assert claim.word != verdict.word


def test_a_cut_line_says_how_much_is_missing() -> None:
    (entry,) = from_stream([raw("head", cut=1_234_567)])
    assert entry.text == "head … 1,234,567 bytes more"


def test_s20_of_a_flood_the_last_lines_are_shown_and_the_rest_is_counted() -> None:
    lines = [raw(f"line {n}", n) for n in range(10_000)]
    entries = from_stream([*lines, said("note", text="the protocol is never dropped")])
    assert len(entries) == BATCH + 2
    assert any("9,800 lines more" in entry.text for entry in entries)
    assert any("never dropped" in entry.text for entry in entries)
    assert entries[-1].text == "line 9999"


def test_entries_are_woven_by_time_even_when_the_stream_comes_late() -> None:
    def at(second: int, text: str) -> Entry:
        return Entry(T0 + timedelta(seconds=second), Kind.RAW, "", text)

    log = [at(1, "a"), at(3, "c"), at(5, "e")]
    keep, tail = merge(log, [at(4, "d"), at(2, "b"), at(6, "f")])
    assert [entry.text for entry in [*log[:keep], *tail]] == ["a", "b", "c", "d", "e", "f"]
    assert keep == 1


@given(old=some.lists(some.integers(0, 50), max_size=30), new=some.lists(some.integers(0, 50), max_size=30))
def test_weaving_loses_nothing_and_keeps_the_order(old: list[int], new: list[int]) -> None:
    def entries(seconds: list[int]) -> list[Entry]:
        return [Entry(T0 + timedelta(seconds=s), Kind.RAW, "", str(s)) for s in seconds]

    log = entries(sorted(old))
    keep, tail = merge(log, entries(new))
    assert [int(e.text) for e in [*log[:keep], *tail]] == sorted(old + new)


def test_every_kind_of_row_that_is_news_is_told_in_one_line() -> None:
    rows = (
        ev.SupervisorStarted(pid=1, boot="b", started=1, token=1, note="weak sandbox: no user namespaces"),
        ev.SupervisorEnded(exit_code=3),
        ev.StatusChanged(status=SessionStatus.PARKED, why="budget:tokens"),
        ev.IterationStarted(iteration=7, task=3, key="k", narrow=True),
        ev.IterationEnded(iteration=7, task=3, how="budget", files=1, lines=1),
        ev.Judged(iteration=7, task=3, phase=Phase.BASELINE, verdict=Verdict.VACUOUS),
        ev.Judged(iteration=7, task=None, phase=Phase.FINAL, verdict=Verdict.FAILED, reason="2 failed"),
        ev.FalseClaim(iteration=7, task=3, verdict=Verdict.FAILED),
        ev.Tampered(iteration=7, task=3, paths=("tests/test_a.py",)),
        ev.Suspected(iteration=7, task=3, findings=(ev.Finding(kind="skip", path="a.py"),)),
        ev.Exposed(iteration=7, paths=("tests",)),
        ev.TakenOver(paths=("tests",), by="operator"),
        ev.PlanRevised(rev="b", was="a", by="operator", changed=("task 3",), diff="--- task 3\n-one\x1b[0m\n+two"),
        ev.OracleFrozen(rev="b", changed=("tests/a.py",), diff="+1\n" * 20),
        ev.TaskMoved(task=3, status="blocked", why="plateau"),
        ev.CheckpointTaken(id="c1", checkpoint=CheckpointKind.ASKED, commit="a", tree="b"),
        ev.CheckpointConfirmed(id="c1", commit="a", tree="b", state="", files=1, ms=80),
        ev.CheckpointsPruned(ids=("c1",), why="keep"),
        ev.RolledBack(safety="c4", target="c2", way="rollback", changed=14),
        ev.RolledBack(safety="c4", target="c2", way="rollback", failed="the disk is full"),
        ev.LevelCrossed(dimension=Dimension.COST, level=Level.SOFT, used=14_600_000, limit=20_000_000),
        ev.CeilingRaised(dimension=Dimension.COST, by=5_000_000, limit=25_000_000),
        ev.Degraded(dimension=Dimension.COST, model="small"),
        ev.PlateauSignal(rule=Rule.NO_CHANGE, window=3, evidence=()),
        ev.PlateauFired(rule=Rule.NO_CHANGE, window=3, evidence=(), response=Response.PARK),
        ev.PlateauCleared(iteration=4),
        ev.LoopSeen(iteration=4, task=3, rule="same_call", light="firing", window=4, evidence=("4 times", "ls\nrm")),
        ev.PlateauReset(by="operator"),
        ev.RequestOpened(id=1, request=RequestKind.TOOL, what="x", tool="shell", input={"command": "ls\nrm"}),
        ev.RequestClosed(id=1, outcome="expired"),
        ev.OrderTaken(order="o", verb="stop", outcome="refused", detail="no"),
        ev.Noted(text="look at the reader first"),
        ev.Logged(text="the watcher died; walking"),
    )
    for row in rows:
        entry = told(row)
        assert entry is not None, row
        assert entry.text
        assert entry.text.isprintable()
        assert kind_of(row) in KINDS, "told, and never read"


def test_the_end_of_a_worker_is_told_without_a_code_that_reads_as_a_count() -> None:
    def ended(how: IterationEnd, **facts: object) -> str:
        entry = told(ev.IterationEnded(iteration=1, task=1, how=how, **facts))  # type: ignore[arg-type]
        assert entry
        return entry.text

    assert ended(IterationEnd.START_FAILED, exit_code=2) == "could not start (exit code 2) · nothing changed"
    assert ended(IterationEnd.OPERATOR) == "ended by you"
    assert ended(IterationEnd.EXITED, exit_code=1, files=1, lines=1) == "exited 1 · 1 file, 1 line"
    assert (
        ended(IterationEnd.INTERRUPTED, detail="in no checkpoint: filler") == "interrupted · in no checkpoint: filler"
    )


def test_tampering_is_told_by_its_kind() -> None:
    kinds = ("shadows", "changed", "shadows")
    entry = told(ev.Tampered(iteration=1, task=1, paths=("copy/a.py", "tests/t.py", "copy/b.py"), kinds=kinds))
    assert entry
    shadows = "shadows a module that checks or runners import: copy/a.py, copy/b.py"
    assert entry.text == f"undone for the verdict: {shadows}; frozen files changed: tests/t.py"


def test_findings_are_told_by_place_reason_and_line() -> None:
    hunk = "+import os\n+os._exit(0)"
    found = ev.Finding(kind="exit", path="a.py", line=2, why="it \x1b[2Jleaves", text="os._exit(0)", hunk=hunk)
    frozen = ev.Finding(kind="changed", path="tests/t.py", line=1, text="x = 1")
    entry = told(ev.Tampered(iteration=1, task=1, paths=(), findings=(found, frozen, found), more=4))
    assert entry
    assert entry.text == (
        "a.py:2: it leaves: “os._exit(0)”; tests/t.py:1: frozen files changed: “x = 1”; and 5 more: exit"
    )
    suspected = told(ev.Suspected(iteration=1, task=1, findings=(found,)))
    assert suspected
    assert (suspected.word, suspected.text) == ("suspect", "a.py:2: it leaves: “os._exit(0)”")


def test_rows_that_only_move_gauges_are_not_told() -> None:
    assert told(ev.Spent(figures={Dimension.TOKENS: ev.Figure(5)})) is None
    assert told(ev.ToolCalled(iteration=1, name="shell")) is None
    assert told(ev.Judged(iteration=1, task=1, phase=Phase.BASELINE, verdict=Verdict.FAILED)) is None
    later = told(ev.Judged(iteration=1, task=1, phase=Phase.REGRESSION, verdict=Verdict.FAILED))
    assert later
    assert later.text == "later run of the check of task 1 failed"
    assert told(ev.OrderTaken(order="o", verb="approve", outcome="done")) is None


def test_what_was_renamed_is_told_with_the_way_back_and_old_journals_are_told_too() -> None:
    entry = told(ev.Quarantined(iteration=1, paths=("a b/.git", ".hooks"), now=("a b/.git.quarantined", ".hooks.q")))
    assert entry is not None
    assert "made by the worker as a repository" in entry.text
    assert "your git would run it" in entry.text
    assert "mv 'a b/.git.quarantined' 'a b/.git' && mv .hooks.q .hooks" in entry.text
    old = told(ev.Quarantined(iteration=1, paths=("lib/.git",)))
    assert old is not None
    assert "lib/.git" in old.text
    assert "mv" not in old.text.split()


def test_what_a_rollback_put_back_is_told_as_the_harness_did_it_and_once() -> None:
    safety = ev.CheckpointTaken(id="c4", checkpoint=CheckpointKind.SAFETY, commit="", tree="", note="before it")
    back = ev.RolledBack(safety="c4", target="c2", way="rollback", changed=3, mine=("a",))
    verdict = replace(back, way="failed_verdict", mine=())
    rows = (safety, back, verdict, replace(verdict, changed=0))
    found = [entry and entry.text for entry in map(told, rows)]
    kept = "what was there is kept as ◇ c4"
    assert found == [
        None,
        f"rolled back to c2: 3 files put back, 1 edit of yours left in place; {kept}",
        f"rolled back to c2 after a failed verdict: 3 files put back; {kept}",
        None,
    ]


def test_the_log_of_the_screen_leaves_out_what_a_glance_has_no_use_for() -> None:
    crossed = ev.LevelCrossed(dimension=Dimension.COST, level=Level.SOFT, used=21, limit=20)
    events = (
        ev.SupervisorStarted(pid=1, boot="b", started=1, token=1, bound=("1G of memory",), unbound=("disk",)),
        ev.Logged(text="bubblewrap 0.11.0 at /usr/bin/bwrap", room="backend"),
        ev.Logged(text="a cover hangs no more", room="sandbox"),
        ev.CheckpointConfirmed(id="c1", commit="a", tree="b", state="", files=1, ms=80),
        ev.CheckpointConfirmed(id="c2", commit="a", tree="b", state="", files=1, ms=80, missed=("a.py",)),
        crossed,
        replace(crossed, level=Level.HARD),
    )
    rows = [ev.Row(seq=place, at=T0, token=1, event=event) for place, event in enumerate(events, 1)]
    assert [entry.text.split(",")[0] for entry in for_screen(rows)] == [
        "supervisor up · bwrap · not bound: disk",
        "a cover hangs no more",
        "c2 is complete: every file was looked at",
        "cost HARD: $0.000021 of $0.00002",
    ]


def test_words_of_the_machine_are_told_in_those_of_a_person() -> None:
    for event, said in (
        (
            ev.TaskMoved(task=3, status=TaskStatus.BLOCKED, why="plateau:no_op"),
            "3 set aside: plateau, iterations change nothing",
        ),
        (ev.TaskMoved(task=3, status=TaskStatus.BLOCKED, why="dropped by the operator"), "3 dropped, by you"),
        (ev.TaskMoved(task=3, status="review", why="no check"), "3 needs you: no check"),
        (ev.CheckpointTaken(id="c3", checkpoint=CheckpointKind.ASKED, commit="a", tree="b"), "◆ c3 as you asked"),
        (
            ev.CheckpointTaken(id="c3", checkpoint=CheckpointKind.ASKED, commit="a", tree="b", edited=True, note="x"),
            "◆ c3 your edit",
        ),
    ):
        entry = told(event)
        assert entry is not None
        assert entry.text == said


def test_why_a_verdict_is_what_it_is_stands_before_the_names_of_tests_that_may_be_cut() -> None:
    names = tuple(f"tests.test_statistics.StatisticsTest.test_column_number_{number}" for number in range(3))
    failed = ev.Judged(
        iteration=4, task=4, phase=Phase.WORK, verdict=Verdict.FAILED, reason="3 of 4 tests failed", failing=names
    )
    entry = told(failed)
    assert entry
    assert entry.text.startswith(f"task 4 failed: 3 of 4 tests failed · {names[0]}, ")


def test_an_iteration_that_ended_because_a_protected_file_lay_open_says_so_and_what_comes_next() -> None:
    why = "proctor.yaml was replaced on the host, and its cover inside with it"
    entry = told(ev.IterationEnded(iteration=4, task=4, how=IterationEnd.UNCOVERED, detail=why))
    assert entry
    assert entry.text == f"ended, for a protected file lay open; a fresh worker goes on · nothing changed · {why}"
