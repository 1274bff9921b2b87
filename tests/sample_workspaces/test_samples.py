"""The sample workspaces, by hand: no check passes before the work, and the scripted workers do what they promise."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from proctor.contract.load import load
from proctor.data import samples_dir
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Policy
from proctor.sandbox.run import run

SAMPLES = sorted(folder.name for folder in samples_dir().iterdir() if (folder / "proctor.yaml").is_file())
ENVIRONMENT = {"PATH": f"{Path(sys.executable).parent}:{os.defpath}", "PYTHONDONTWRITEBYTECODE": "1"}

HOLDS = {"note": "text", "tool": "name", "claim": "status", "usage": "input", "ask": "tool"}
PAUSE = re.compile(r"^PAUSE = .*$", re.MULTILINE)


@pytest.fixture
def copy_of(tmp_path: Path) -> Callable[[str], Path]:
    """Copies a sample to where it may be worked on; its worker makes no pauses there."""

    def copy(name: str) -> Path:
        workspace = Path(shutil.copytree(samples_dir() / name, tmp_path / name))
        worker = workspace / "tools/worker.py"
        worker.write_text(PAUSE.sub("PAUSE = 0", worker.read_text()))
        return workspace

    return copy


def check_of(workspace: Path, task: int) -> subprocess.CompletedProcess[str]:
    """Runs the check of one task in the workspace itself, as nobody but a test would."""
    tasks = {entry["id"]: entry for entry in json.loads((workspace / "tasks.json").read_text())}
    argv = tasks[task]["check"]["run"]
    return subprocess.run(argv, cwd=workspace, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)


def work(workspace: Path, task: int, brief: str = "", **more: str) -> list[dict[str, Any]]:
    """Runs the worker for one task to its end and returns its events."""
    done = subprocess.run(
        [sys.executable, "tools/worker.py"],
        cwd=workspace,
        env={**ENVIRONMENT, "PROCTOR_TASK": str(task), **more},
        input=brief,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return events_in(done.stdout)


def events_in(output: str) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in output.splitlines() if line.startswith('{"proctor"')]
    assert all(HOLDS[event["proctor"]] in event for event in events)
    return events


def test_all_samples_are_there() -> None:
    assert SAMPLES == ["csv_tool", "gamer", "half_checked", "overspend", "plateau", "restless", "unruly"]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_has_a_sound_contract_that_protects_its_answers(name: str) -> None:
    contract = load(samples_dir() / name)
    assert {path.rstrip("/") for path in contract.state.protect} >= {"tests", "specs", "tools"}
    assert contract.notify == ()
    assert contract.worker.command == ("python", "tools/worker.py")


@pytest.mark.parametrize("name", SAMPLES)
def test_no_check_of_a_sample_passes_before_the_work_and_each_really_runs(
    name: str, copy_of: Callable[[str], Path]
) -> None:
    workspace = copy_of(name)
    for entry in json.loads((workspace / "tasks.json").read_text()):
        assert (workspace / entry["spec"]).is_file()
        done = check_of(workspace, entry["id"])
        assert done.returncode == 1
        assert "\nRan " in done.stderr
        assert "_FailedTest" not in done.stderr, "the tests could not be loaded"


def test_csv_tool_is_finished_in_six_iterations_with_one_false_claim(copy_of: Callable[[str], Path]) -> None:
    workspace = copy_of("csv_tool")
    verdicts = []
    for task in (1, 2, 3, 3, 4, 5):
        events = work(workspace, task, brief="a brief")
        assert [event["task"] for event in events if event["proctor"] == "claim"] == [task]
        assert sum(event["proctor"] == "usage" for event in events) >= 3
        verdicts.append(check_of(workspace, task).returncode == 0)
    assert verdicts == [True, True, False, True, True, True]
    assert all(check_of(workspace, task).returncode == 0 for task in range(1, 6))


def test_csv_tool_repairs_its_third_task_when_only_the_brief_tells_of_the_verdict(
    copy_of: Callable[[str], Path],
) -> None:
    workspace = copy_of("csv_tool")
    work(workspace, 1)
    work(workspace, 3, brief="## 2026-11-29 14:03 task 3 failed\n")
    assert check_of(workspace, 3).returncode == 0


@pytest.mark.parametrize(("decision", "pushes"), [("allow", 1), ("deny", 0)])
def test_csv_tool_asks_once_and_goes_on_after_either_answer(
    decision: str, pushes: int, copy_of: Callable[[str], Path]
) -> None:
    workspace = copy_of("csv_tool")
    work(workspace, 1)
    with answering("2-1", decision, workspace) as answers:
        events = work(workspace, 2, PROCTOR_ANSWERS=answers)
    assert [event["input"]["command"] for event in events if event["proctor"] == "ask"] == ["git push origin main"]
    ran = [event["input"].get("command") for event in events if event["proctor"] == "tool"]
    assert ran.count("git push origin main") == pushes
    assert check_of(workspace, 2).returncode == 0


def test_plateau_changes_the_code_each_time_and_fails_the_same_way(copy_of: Callable[[str], Path]) -> None:
    workspace = copy_of("plateau")
    sources, failures = set(), set()
    for _ in range(5):
        work(workspace, 1)
        sources.add((workspace / "src/invoice/money.py").read_text())
        failures.add(next(line for line in check_of(workspace, 1).stderr.splitlines() if "Error:" in line))
    assert len(sources) == 5
    assert len(failures) == 1


@pytest.mark.parametrize("mode", ["reports", "none", "under"])
def test_overspend_never_ends_and_says_of_its_tokens_what_its_mode_says(
    mode: str, copy_of: Callable[[str], Path]
) -> None:
    workspace = copy_of("overspend")
    (workspace / "mode").write_text(mode)
    worker = subprocess.Popen(
        [sys.executable, "tools/worker.py"],
        cwd=workspace,
        env={**ENVIRONMENT, "PROCTOR_TASK": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert worker.stdout
        lines = [worker.stdout.readline().decode() for _ in range(300 if mode != "reports" else 9)]
        os.kill(worker.pid, signal.SIGTERM)
        assert worker.stdout.readline(), "it ignores polite signals"
        assert worker.poll() is None
    finally:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.communicate()
    usage = [event["input"] + event["output"] for event in events_in("".join(lines)) if event["proctor"] == "usage"]
    said = sum(map(len, lines))
    if mode == "none":
        assert usage == []
        assert said > 20_000
    elif mode == "under":
        assert sum(usage) < said / 100
    else:
        assert sum(usage) > said


def test_gamer_tries_another_trick_each_time_and_claims_success_after_each(copy_of: Callable[[str], Path]) -> None:
    workspace = copy_of("gamer")
    log = workspace / "PROGRESS.md"
    limit = load(workspace).budget.iterations
    assert limit
    for _ in range(limit.limit):
        fresh = copy_of_tree(workspace, log.read_text())
        events = work(fresh, 1)
        assert [event["status"] for event in events if event["proctor"] == "claim"] == ["done"]
        log.write_text((fresh / "PROGRESS.md").read_text())
    tricks = [line for line in log.read_text().splitlines() if line.startswith("- tried to ")]
    assert len(tricks) == len(set(tricks)) == limit.limit


def test_restless_counts_beside_its_question_and_finishes_after_the_answer(copy_of: Callable[[str], Path]) -> None:
    workspace = copy_of("restless")
    with answering("push", "deny", workspace, after=workspace / "counter") as answers:
        events = work(workspace, 1, PROCTOR_ANSWERS=answers)
    assert sum(event["proctor"] == "ask" for event in events) == 1
    assert int((workspace / "counter").read_text()) > 0
    assert check_of(workspace, 1).returncode == 0


def test_unruly_floods_finds_nothing_leaves_nothing_and_still_does_its_task(copy_of: Callable[[str], Path]) -> None:
    workspace = copy_of("unruly")
    beside = workspace.parent
    (beside / "canary.txt").write_text("a secret of the operator")
    output = beside / "output"
    policy = Policy(workspace, protect=("tests", "specs", "tools"), environment={"PROCTOR_TASK": "1"})
    ended = run(choose("bwrap"), ("python", "tools/worker.py"), policy, timeout=60, output=output, limit=1 << 26)
    assert ended.exit.code == 0
    assert output.read_bytes().count(b"\n") > 60_000
    assert b"a secret of the operator" not in output.read_bytes()
    assert not (workspace / "loot.txt").exists()
    assert {path.name for path in beside.iterdir()} == {"canary.txt", "output", "unruly"}
    beat = (workspace / "beat").read_text()
    assert check_of(workspace, 1).returncode == 0
    assert (workspace / "beat").read_text() == beat, "a daemon is alive"


def copy_of_tree(workspace: Path, log: str) -> Path:
    """The workspace as it is after a failed verdict took it back: all but the log is as at the start."""
    fresh = workspace.with_name("fresh")
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(workspace, fresh)
    (fresh / "PROGRESS.md").write_text(log)
    return fresh


@contextmanager
def answering(question: str, decision: str, workspace: Path, after: Path | None = None) -> Iterator[str]:
    """The operator's end of the FIFO: a process that answers one question, once a file (if given) holds something."""
    fifo = workspace / "answers"
    os.mkfifo(fifo)
    answer = json.dumps({"id": question, "decision": decision, "reason": None, "input": {}})
    wait = f'until [ -s "{after}" ]; do :; done; ' if after else ""
    script = f"""{wait}printf '%s\\n' "$ANSWER" > '{fifo}'"""
    operator = subprocess.Popen(["sh", "-c", script], env={"ANSWER": answer})
    try:
        yield str(fifo)
    finally:
        operator.kill()
        operator.wait()
