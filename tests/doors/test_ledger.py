"""The journal's figures against what the scripted server knows that it served, through a whole session.

The server counts and prices by its own tables. The supervisor, which is the gateway's process, is killed in the middle.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from doors import ledger_calls
from harness import PATIENCE, Workspace, wait_until
from models.server import Models
from models.truth import Served, micro
from proctor.journal import events as ev
from proctor.words import CallEnd, Source

COUNTS = (300, pytest.param(1000, marks=pytest.mark.cases))
"""Calls of one session: the few take seconds."""
BOUND = 0.10
"""Share of what the cut and unreported calls came to that their estimates, together, may be off by."""

CONTRACT = """\
goal: ask a thousand times
worker: {kind: command, command: [python, worker.py], model: gpt-5-mini}
state: {protect: [check.py], commits: none}
budget:
  iterations: {limit: 4, on_exhaustion: stop}
  tokens: {limit: 90M, on_exhaustion: stop}
  cost: {limit: $900, on_exhaustion: stop}
gateway: {upstream: {main: {base_url: URL}}}
"""
CHECK = """\
import json
asked = {(c["n"], t) for c in json.load(open("calls.json")) for t in range(c["times"])}
raise SystemExit(asked != {tuple(map(int, line.split()[:2])) for line in open("done.log")})
"""


@dataclass
class Run:
    """What is left when all is over. `received` are the answers that the worker had whole, by the provider's id."""

    calls: int
    served: list[Served]
    rows: list[ev.ModelCall]
    asked: list[ev.ModelAsked]
    received: set[str]
    killed_after: int
    status: dict[str, Any]

    def measured(self) -> list[Served]:
        """The answers whose usage was told to the end, each once; those that a kill took on their way are not among
        them."""
        found = {row.message: row for row in self.served if row.whole and row.told}
        known = {row.message for row in self.rows}
        return [row for row in found.values() if row.message in known or row.message in self.received]


@pytest.fixture(scope="module", params=COUNTS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    place = tmp_path_factory.mktemp("ledger")
    count = request.param
    calls = ledger_calls.mixed(count, 5)
    workspace = Workspace(place / "w")
    workspace.path.mkdir()
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_STATE_HOME", str(place / "state"))
    try:
        with Models(ledger_calls.script) as models:
            _write(workspace.path, models.url, ledger_calls.as_json(calls))
            workspace.begin()
            (first,) = workspace.supervisors
            models.wait(lambda rows: len(rows) >= count // 2 or first.poll() is not None)
            before = len(models.rows)
            os.kill(wait_until(workspace.supervisor), signal.SIGKILL)
            first.wait(PATIENCE)
            code, output = workspace.finish()
            assert code == 0, output[-2000:]
            assert models.failures == []
            log = [line.split() for line in (workspace.path / "done.log").read_text().splitlines()]
            yield Run(
                calls=count,
                served=models.calls(),
                rows=[event for event in workspace.events("model_call") if isinstance(event, ev.ModelCall)],
                asked=[event for event in workspace.events("model_asked") if isinstance(event, ev.ModelAsked)],
                received={message for _, _, ended, message in log if ended == "whole"},
                killed_after=before,
                status=workspace.status(),
            )
    finally:
        workspace.settle()
        patch.undo()


def _write(folder: Path, url: str, calls: str) -> None:
    check = {"run": ["python", "check.py"], "timeout": "30s"}
    task = {
        "id": 1,
        "task": "Ask",
        "check": check,
        "status": "pending",
        "verified_by": None,
        "commit": None,
        "note": "",
    }
    files = {
        "proctor.yaml": CONTRACT.replace("URL", url),
        "tasks.json": json.dumps([task]),
        "worker.py": ledger_calls.WORKER,
        "check.py": CHECK,
        "calls.json": calls,
    }
    for name, text in files.items():
        (folder / name).write_text(text)


def test_every_reported_call_is_exact_in_tokens_tools_and_micro_dollars(run: Run) -> None:
    counted = {row.message: row for row in run.rows if row.end is CallEnd.ANSWERED and not row.duplicate}
    measured = run.measured()
    assert len(measured) > run.calls * 0.8
    for truth in measured:
        row = counted[truth.message]
        kinds = (row.input, row.output, row.cache_read, row.cache_write, row.cache_write_1h, row.reasoning)
        t = truth.tokens
        assert kinds == (t.input, t.output, t.cache_read, t.write_5m, t.write_1h, t.reasoning), truth
        assert (row.micro, row.source) == (truth.micro, Source.MEASURED), truth
        assert (row.api.value, row.model, row.tools) == (truth.api, truth.model, len(truth.tools)), truth
        assert (row.named, row.agent) == (truth.tools, truth.agent), truth


def test_no_answer_that_the_worker_had_whole_is_missing(run: Run) -> None:
    assert run.killed_after < len(run.served)
    settled = {row.message for row in run.rows if row.end in (CallEnd.ANSWERED, CallEnd.CUT)}
    assert run.received - {"-"} <= settled


def test_the_calls_that_the_kill_took_are_settled_from_what_was_reserved(run: Run) -> None:
    assert sorted(row.call for row in run.asked) == sorted(
        row.call for row in run.rows if row.end is not CallEnd.REFUSED
    )
    lost = [row for row in run.rows if row.end is CallEnd.LOST]
    assert len(lost) <= 16  # eight in flight, and of each client one whose answer it had given up just before
    assert all(row.source is Source.ESTIMATED for row in lost)


def test_an_answer_that_comes_twice_counts_once_and_one_that_is_asked_for_twice_is_billed_twice(run: Run) -> None:
    served = [row for row in run.served if row.message.startswith("same")]
    begun, whole = ([row.message for row in served if row.whole or every] for every in (True, False))
    twice = {id for id in whole if whole.count(id) == 2}
    assert len(twice) > run.calls * 0.03
    duplicates = [row for row in run.rows if row.duplicate]
    assert all(begun.count(row.message) == 2 for row in duplicates)  # what was cut at the last byte had been read
    assert len(duplicates) >= len(twice) - 8  # those on both sides of the kill are counted twice rather than not at all
    others = [row for row in run.served if row.message not in twice]
    whole_ones, all_ones = (Counter(row.digest for row in others if row.whole or every) for every in (False, True))
    least, most = sum(n == 2 for n in whole_ones.values()), sum(n - 1 for n in all_ones.values())
    assert least - 8 <= sum(row.repeat for row in run.rows) <= most


def test_calls_that_were_cut_are_estimated_within_a_bound(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    unsure = [row for row in run.served if row.status == 200 and not (row.whole and row.told)]
    messages = {row.message for row in unsure}
    estimates = [row for row in run.rows if row.message in messages or row.source is Source.ESTIMATED]
    estimates = [row for row in estimates if row.end is not CallEnd.LOST]
    assert len(unsure) > run.calls * 0.05
    truth = sum(row.tokens.input + row.tokens.output for row in unsure)
    guess = sum(row.input + row.output for row in estimates)
    paid = sum(micro(row.model, row.tokens) or 0 for row in unsure)
    priced = sum(row.micro or 0 for row in estimates)
    with capsys.disabled():
        print(
            f"\ncut or unreported: {len(unsure)} served, {len(estimates)} estimated; tokens {truth} true, {guess} "
            f"counted ({(guess - truth) / truth:+.1%}); micro-dollars {paid} true, {priced} counted "
            f"({(priced - paid) / paid:+.1%}); bound {BOUND:.0%}"
        )
    assert abs(guess - truth) <= BOUND * truth
    assert abs(priced - paid) <= BOUND * paid


def test_the_session_s_totals_are_the_sums_of_its_calls(run: Run) -> None:
    counted = [
        row for row in run.rows if not row.duplicate and row.end in (CallEnd.ANSWERED, CallEnd.CUT, CallEnd.LOST)
    ]
    used = {name: one["used"] for name, one in run.status["budget"].items()}
    prefix = sum(row.input + row.cache_read + row.cache_write + row.cache_write_1h for row in counted)
    assert used["tokens"] == prefix + sum(row.output for row in counted)
    assert used["cost"] == sum(row.micro or 0 for row in counted)
