"""What is refused before anything starts: a worker that cannot run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import proctor
from proctor.contract.load import load
from proctor.errors import UsageError
from proctor.supervisor.preflight import find_program

CONTRACT = """\
goal: g
worker: {kind: command, command: %s}
budget: {wall_clock: {limit: 5m, on_exhaustion: stop}}
progress: {checks: [{run: [python3, -m, unittest, test_it]}]}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "project"
    (folder / "tools").mkdir(parents=True)
    (folder / "tools" / "agent.sh").write_text("true\n")
    (folder / "PLAN.md").write_text("# Plan\n\n- [ ] do it\n")
    return folder


def names(project: Path, *command: str) -> None:
    (project / "proctor.yaml").write_text(CONTRACT % json.dumps(command))


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("sh", "tools/agnet.sh"), "sh is to run 'tools/agnet.sh', which is not there; nearest: tools/agent.sh"),
        (("/bin/sh", "-eu", "tools/nothing.py"), "'tools/nothing.py', which is not there; mend the path"),
        (("python3", "-u", "tools/agnet.sh", "-c"), "nearest: tools/agent.sh"),
        (("python3", "elsewhere/agent.py"), "'elsewhere/agent.py', which is not there; mend the path"),
        (("sh", "no-such-script"), "'no-such-script', which is not there"),
        (("tools/agent.sh",), "'tools/agent.sh' may not be executed; `chmod +x` it"),
        (("./tools",), "'./tools' was not found"),
    ],
)
def test_a_worker_whose_script_is_missing_is_refused(project: Path, command: tuple[str, ...], says: str) -> None:
    names(project, *command)
    with pytest.raises(UsageError) as caught:
        find_program(project, load(project))
    assert str(caught.value).startswith("worker.command: ")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "command",
    [
        ("sh", "tools/agent.sh"),
        ("sh", "-c", "tools/agnet.sh"),
        ("sh", "-ec", "tools/agnet.sh"),
        ("bash", "--norc", "tools/agnet.sh"),
        ("bash", "-o", "pipefail", "tools/agent.sh"),
        ("sh", "env"),
        ("sh",),
        ("python3", "-m", "agent"),
        ("python3", "-X", "dev", "tools/agnet.py"),
        ("python3", "tools"),
        ("env", "A=1", "sh", "tools/agnet.sh"),
    ],
    ids=" ".join,
)
def test_what_a_command_runs_in_the_end_is_not_guessed(project: Path, command: tuple[str, ...]) -> None:
    names(project, *command)
    find_program(project, load(project))


@pytest.mark.parametrize("verb", [("check",), ("run", "--headless")])
def test_a_missing_script_is_refused_in_one_line_before_anything_starts(project: Path, verb: tuple[str, ...]) -> None:
    names(project, "sh", "tools/agnet.sh")
    result = proctor(verb[0], project, *verb[1:])
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"proctor: {project}/proctor.yaml:2: worker.command: ") or ":2: worker.command: " in line
    assert not (project / ".proctor" / "journal.db").exists()
