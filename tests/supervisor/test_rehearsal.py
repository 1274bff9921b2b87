"""What `check` finds out about the checks: whether they could start, in the sandbox in which they run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from proctor.cli.main import main
from proctor.contract.load import load
from proctor.supervisor.rehearsal import kept, unrunnable

CONTRACT = """\
goal: Try the checks
worker: {kind: command, command: [sh]}
budget: {iterations: {limit: 1, on_exhaustion: stop}}
progress: {checks: [{run: %s}]}
termination: {final: {run: [no-such-final]}}
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, with a first `python` on PATH that has no module but the standard library's."""
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "python").write_text('#!/bin/sh\nexec /usr/bin/env python3 -I -S "$@"\n')
    (bare / "python").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bare}:{os.environ['PATH']}")
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def lines(work: Path, run: list[str], *more: list[str]) -> list[str]:
    (work / "proctor.yaml").write_text(CONTRACT % json.dumps(run))
    listed = [{"id": n, "task": "x", "check": {"run": argv}} for n, argv in enumerate(more, 1)]
    (work / "tasks.json").write_text(json.dumps(listed or [{"id": 1, "task": "x"}]))
    *found, final = unrunnable(work, load(work))
    assert final.startswith("termination.final: `no-such-final` ")
    return found


def test_what_cannot_start_is_named_with_its_key_and_what_to_do(work: Path) -> None:
    (line,) = lines(work, ["python", "-m", "pytest", "-q"])
    assert line.startswith("progress.checks[0]: `python -m pytest -q` cannot run in the sandbox: ")
    assert line.endswith(" has no module pytest; install it there, or name a program that has it by its path")
    tasks = ["no-such-program", "x"], ["sh", "-c", "no-such-program"], ["no-such-program", "y"]
    (of_tasks,) = lines(work, ["no-such-default"], *tasks)
    said = "`no-such-program x` cannot run in the sandbox: no-such-program was"
    assert of_tasks.startswith(f"tasks.json:1: task 1 and 1 more: {said}")


def test_what_a_check_cannot_compare_with_and_a_server_that_cannot_start_are_named(work: Path) -> None:
    (work / "odd.json").write_text("[]")
    schema = {"run": ["sh"], "schema": {"output": True, "schema": "odd.json"}}
    page = {"run": ["no-such-server"], "port": 80, "browser": "no-such-browser", "text": "x"}
    checks = [schema, {"run": ["sh"], "expect": {"golden": "gone"}}, {"page": page}]
    (work / "proctor.yaml").write_text((CONTRACT % '[sh, -c, "true"]').replace("no-such-final", "sh"))
    (work / "tasks.json").write_text(json.dumps([{"id": 7, "task": "x", "check": checks}]))
    assert unrunnable(work, load(work)) == (
        "tasks.json:1: task 7: schema.schema: odd.json is no JSON Schema",
        "tasks.json:1: task 7: expect.golden: gone is not there",
        "tasks.json:1: task 7: `no-such-server` cannot run in the sandbox: no-such-server was not found; "
        "install it there, or name a program that has it by its path",
        "tasks.json:1: task 7: `no-such-browser` cannot run in the sandbox: no-such-browser was not found or cannot be "
        "started; install it there, or name a program that has it by its path",
    )
    (work / "proctor.yaml").write_text((work / "proctor.yaml").read_text() + "sandbox: {kind: none}\n")
    said = "page: needs a network of its own, which only `sandbox.kind: bwrap` gives"
    assert f"tasks.json:1: task 7: {said}" in unrunnable(work, load(work))


def test_a_program_of_the_workspace_that_an_earlier_check_may_make_is_left_to_it(work: Path) -> None:
    assert lines(work, ["build/test"]) == []


def test_a_script_that_may_be_the_work_and_that_a_check_owns_is_told_once(work: Path) -> None:
    for name in ("cli.py", "verify.py", "app.py"):
        (work / name).write_text("")
    lines(work, ["python", "cli.py", "2"], ["python", "verify.py"], ["python", "cli.py", "3"])
    (line,) = kept(work, load(work))
    assert line.startswith("tasks.json:1: task 2: what a worker does to cli.py is undone, since a check judged by its")
    contract = (work / "proctor.yaml").read_text().replace("progress: {", "progress: {smoke: {run: [python, app.py]}, ")
    (work / "proctor.yaml").write_text(contract.replace('run: ["python"', "expect: '5', run: [\"python\""))
    (work / "tasks.json").write_text(json.dumps([{"id": 1, "task": "x"}]))
    assert kept(work, load(work)) == ()


def test_what_a_task_names_and_checks_rest_on_is_told_unless_it_is_entrusted(work: Path) -> None:
    (work / "Makefile").write_text("dist:\n\ttouch out\n")
    lines(work, ["make", "dist"])
    (work / "tasks.json").write_text(json.dumps([{"id": 1, "task": "Add a target to the Makefile, see Makefile.am"}]))
    (line,) = kept(work, load(work))
    assert line.startswith(
        "tasks.json:1: task 1: names Makefile, on which checks rest, so that what a worker does to it"
    )
    (work / ".github" / "workflows").mkdir(parents=True)
    (work / ".github" / "workflows" / "ci.yml").write_text("on: push\n")
    (work / "tasks.json").write_text(json.dumps([{"id": 1, "task": "Have ci.yml run the target of the Makefile"}]))
    (line,) = kept(work, load(work))
    assert "names .github/workflows/ci.yml, Makefile, on which checks rest" in line
    (work / "tasks.json").write_text(json.dumps([{"id": 1, "task": "Add a target to the Makefile"}]))
    (line,) = kept(work, load(work))
    assert line.endswith("state.entrust: [Makefile]")
    with (work / "proctor.yaml").open("a") as contract:
        contract.write("state: {entrust: [Makefile]}\n")
    assert kept(work, load(work)) == ()


def test_check_refuses_a_contract_whose_check_cannot_start(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines(work, ["python", "-m", "no_such_module"])
    assert main(["check", str(work)]) == 2
    told = capsys.readouterr()
    said = "`python -m no_such_module` cannot run in the sandbox: "
    assert f"\nunanswered: proctor.yaml:4: progress.checks[0]: {said}" in told.out
    assert told.err == "proctor: the contract is incomplete; see above\n"
