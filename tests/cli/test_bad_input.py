"""Bad input gets one clear line, the right exit code, and nothing is lost. Verbs run from their
entry point, in a fork of the test's process."""

from __future__ import annotations

import json
import os
import subprocess
from argparse import Namespace
from pathlib import Path

import pytest

from harness import Workspace, proctor
from proctor.cli.main import main
from proctor.cli.run import screen
from proctor.journal import events as ev
from proctor.journal.store import Journal, journal_path
from proctor.supervisor import process
from proctor.words import Dimension

CONTRACT = """\
goal: g
worker: {kind: command, command: [%s]}
budget: {wall_clock: {limit: 5m, on_exhaustion: stop}}
progress: {checks: [{run: [python3, -m, unittest, test_it]}]}
"""


def refused(result: subprocess.CompletedProcess[str], code: int, *says: str) -> None:
    assert result.returncode == code, result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("proctor: ")
    for word in says:
        assert word in lines[0]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "proctor.yaml").write_text(CONTRACT % "sh, -c, 'true'")
    (folder / "PLAN.md").write_text("# Plan\n\n- [ ] do it\n")
    (folder / "test_it.py").write_text(
        "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.fail('not yet')\n"
    )
    return folder


def test_no_contract(tmp_path: Path) -> None:
    refused(proctor("run", tmp_path, "--headless"), 2, "proctor.yaml", "proctor init")


def test_a_broken_contract_names_file_line_key_and_the_nearest_one(project: Path) -> None:
    (project / "proctor.yaml").write_text(CONTRACT % "sh" + "bugdet: {}\nworkr: {}\n")
    result = proctor("run", project, "--headless")
    assert result.returncode == 2
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 2
    assert "proctor.yaml:5" in lines[0]
    assert "budget" in lines[0]
    assert "worker" in lines[1]


def test_no_task_list(project: Path) -> None:
    (project / "PLAN.md").unlink()
    refused(proctor("run", project, "--headless"), 2, "tasks.json")


def test_a_broken_task_list_is_not_taken_for_an_empty_one(project: Path) -> None:
    (project / "tasks.json").write_text("[{]")
    refused(proctor("run", project, "--headless"), 2, "tasks.json")


@pytest.mark.parametrize("place", ["missing", "file"])
def test_a_workspace_that_is_no_folder(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    refused(proctor("run", tmp_path / place, "--headless"), 2, "not a folder")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_workspace_that_cannot_be_written(project: Path) -> None:
    project.chmod(0o500)
    try:
        refused(proctor("run", project, "--headless"), 5, "not writable")
    finally:
        project.chmod(0o700)


def test_an_unknown_worker(project: Path) -> None:
    (project / "proctor.yaml").write_text((CONTRACT % "sh").replace("kind: command", "kind: gemini"))
    refused(proctor("run", project, "--headless"), 2, "worker.kind")


def test_a_command_that_is_not_there(project: Path) -> None:
    (project / "proctor.yaml").write_text(CONTRACT % "no-such-agent")
    refused(proctor("run", project, "--headless"), 2, "no-such-agent", "not found")


def test_a_check_that_cannot_be_run_is_unrecoverable_and_no_worker_starts(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (project / "proctor.yaml").read_text().replace("python3, -m, unittest, test_it", "no-such-check")
    (project / "proctor.yaml").write_text(text)
    result = proctor("run", project, "--headless")
    assert result.returncode == 5, result.stdout + result.stderr
    assert "no-such-check" in result.stdout
    why, last = result.stderr.splitlines()
    assert why.startswith("proctor: task 1: its check cannot be run: ")
    assert why.endswith("check-1.log")
    where = "proctor: failed: the checks cannot be run; 0 of 1 task verified; see the line above; `proctor resume "
    assert last.startswith(where)
    monkeypatch.setattr("proctor.tui.app.run", lambda *_, **__: 5)
    assert screen(project, Namespace(theme=None, no_mouse=True)) == 5
    assert capsys.readouterr().err.startswith("proctor: task 1: its check cannot be run: ")
    workspace = Workspace(project)
    assert workspace.events("iteration_started") == []
    assert workspace.status()["why"] == "error:oracle"


@pytest.mark.cases  # the pauses between its starts are real
def test_a_worker_that_fails_at_once_is_tried_three_times_and_its_words_are_shown(project: Path) -> None:
    (project / "proctor.yaml").write_text(CONTRACT % "sh, -c, 'echo all done, no key found >&2; exit 3'")
    result = proctor("run", project, "--headless")
    assert result.returncode == 5, result.stdout + result.stderr
    assert result.stdout.count("no key found") >= 3
    why, last = result.stderr.splitlines()
    assert why == "proctor: the worker could not start: all done, no key found"
    assert "done" not in last
    workspace = Workspace(project)
    assert workspace.status()["why"] == "error:start"
    assert len(workspace.events("iteration_started")) == 3


def test_a_damaged_journal_is_no_fresh_start(project: Path) -> None:
    (project / ".proctor").mkdir()
    (project / ".proctor" / "journal.db").write_bytes(b"rubbish" * 1000)
    refused(proctor("run", project, "--headless"), 5, "journal.db", "damaged")
    assert (project / ".proctor" / "journal.db").read_bytes() == b"rubbish" * 1000


def test_a_task_whose_check_already_passes_needs_a_person(project: Path) -> None:
    (project / "test_it.py").write_text(
        "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        pass\n"
    )
    run = Workspace(project)
    try:
        result = proctor("run", project, "--headless")
        assert result.returncode == 6, result.stdout + result.stderr
        assert run.status()["status"] == "asking"
        assert run.events("iteration_started") == []
        assert run.status()["tasks"][0]["status"] == "review"
        (request,) = run.status()["requests"]
        assert run.proctor("deny", "--id", str(request["id"])).returncode == 0
    finally:
        run.settle()


def test_answers_to_nothing_are_refused(project: Path) -> None:
    refused(proctor("approve", project, "--id", 3), 2, "no session")
    refused(proctor("resume", project), 2, "no session")


def test_wait_takes_a_duration(project: Path) -> None:
    refused(proctor("run", project, "--headless", "--wait", "soon"), 2, "--wait")


def test_a_sandboxed_command_has_its_exit_status_and_a_refusal_names_proctor(project: Path) -> None:
    assert proctor("sandbox", project, "--", "sh", "-c", "exit 7").returncode == 7
    before = sorted(path.name for path in project.iterdir())
    assert proctor("sandbox", project, "--", "true").returncode == 0
    assert sorted(path.name for path in project.iterdir()) == before
    missing = proctor("sandbox", project, "--", "no-such-program")
    refused(missing, 2, "no-such-program: not found inside")
    refused(proctor("sandbox", project, "--", "no\x1b[2J\nsuch"), 2, "not found inside")
    refused(proctor("sandbox", project), 2, "--")


def test_status_names_what_was_renamed_and_what_tools_run_by_themselves(project: Path) -> None:
    journal = Journal(journal_path(process.state_dir_of(project.resolve())))
    journal.append(
        ev.SessionStarted(session="s", workspace=str(project), goal="g"),
        ev.Quarantined(iteration=1, paths=("lib/.git",)),
        ev.Autorun(iteration=1, paths=(".envrc", "odd\x1b[2J/.envrc"), new=(".envrc",)),
    )
    journal.close()
    found = json.loads(proctor("status", project, "--json").stdout)
    assert found["quarantined"] == ["lib/.git"]
    assert found["autorun"] == [".envrc", "odd\x1b[2J/.envrc"]
    plain = proctor("status", project).stdout
    assert "lib/.git" in plain
    assert ".envrc" in plain
    assert "\x1b" not in plain


def test_extend_says_which_dimensions_there_are() -> None:
    said = proctor("extend", "--help").stdout
    assert all(dimension in said for dimension in Dimension)


def test_a_command_without_its_dashes_is_told_how_to_be_written(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    for words, says in (
        ((".", "bash", "-c", "ls"), "proctor sandbox -- bash -c ls"),
        ((str(project), "ls", "a b"), f"proctor sandbox {project} -- ls 'a b'"),
        (("ls", "-l"), "proctor sandbox -- ls -l"),
    ):
        with pytest.raises(SystemExit) as end:
            main(["sandbox", *words])
        (line,) = capsys.readouterr().err.splitlines()
        assert (end.value.code, line.startswith("proctor: "), says in line) == (2, True, True), line
    assert main(["sandbox", "ls"]) == 2
    assert "after `--`" in capsys.readouterr().err
    refused(proctor("status", project, "--jsno"), 2, "--jsno")
    assert "[DIR] -- CMD" in proctor("sandbox", "--help").stdout


def test_what_a_worker_of_a_session_gets_is_explained_too(project: Path) -> None:
    told = json.loads(proctor("sandbox", project, "--explain", "--json").stdout)
    assert told["gateway"] == "127.0.0.1:8377"
    assert told["door"]
    assert "PROCTOR_BRIEF" in told["environment"]
    assert any("worker of a session" in note for note in told["notes"])
