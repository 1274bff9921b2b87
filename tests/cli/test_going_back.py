"""`rollback` and `undo` as the command line has them: what they print, one after another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import harness
from proctor.checkpoint.repository import Store
from proctor.cli.main import main
from proctor.journal import events as ev
from proctor.journal.store import Journal, journal_path
from proctor.supervisor import process
from proctor.words import IterationEnd


def proctor(*words: object) -> str:
    done = harness.proctor(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace in which a worker wrote `a` and `c`, and the operator `c` and `new`, since checkpoint c1."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / name).write_text("1\n")
    proctor("checkpoint", folder)
    state = process.state_dir_of(folder)
    store, journal = Store(folder, state / "checkpoints.git", ("PROGRESS.md",)), Journal(journal_path(state))
    journal.append(ev.IterationStarted(iteration=1, task=1, key="", tree=journal.state().tree))
    for name in ("a", "c"):
        (folder / name).write_text("worker\n")
    tree = store.snapshot("after").tree
    journal.append(
        ev.IterationEnded(iteration=1, task=1, how=IterationEnd.EXITED, tree=tree),
        ev.Settled(iteration=1, task=1, amounts={}),
        ev.Decided(iteration=1, move="go_on"),
    )
    journal.close()
    (folder / "c").write_text("mine\n")
    (folder / "new").write_text("mine\n")
    return folder


def test_a_preview_names_the_operator_s_edits_first_and_touches_nothing(project: Path) -> None:
    lines = proctor("rollback", project, "--preview").splitlines()
    assert lines[0].startswith("back to c1: ")
    assert "confirmed" in lines[0]
    assert lines[1:6] == [
        "  1 file goes, 2 change",
        "  yours, written since then:",
        "    goes        new  +0 -1",
        "  yours and a worker's:",
        "    changes     c  +1 -1",
    ]
    assert "-worker" in lines
    assert (project / "new").read_text() == "mine\n"
    assert "new" not in proctor("rollback", project, "--preview", "--paths", "a")


def test_a_preview_as_data(project: Path) -> None:
    found = json.loads(proctor("rollback", project, "--preview", "--json"))
    assert (found["target"], found["safety"], found["mine"], found["both"]) == ("c1", None, ["new"], ["c"])
    assert {one["path"]: one["does"] for one in found["changed"]} == {"a": "changes", "c": "changes", "new": "goes"}
    kept = json.loads(proctor("rollback", project, "--preview", "--keep-mine", "--json"))
    assert (kept["stays"], [one["path"] for one in kept["changed"]]) == (["c", "new"], ["a"])


def test_a_rollback_acts_at_once_and_prints_what_it_took(project: Path) -> None:
    lines = proctor("rollback", project).splitlines()
    assert lines[0].startswith("the tree is what it was at c1; what was there is kept as c2")
    assert lines[2] == "  yours, written since then, kept as c2:"
    assert not (project / "new").exists()
    assert "`proctor undo` brings it back" in lines[0]
    assert proctor("undo", project).startswith("the tree is what it was at c2")
    assert (project / "new").read_text() == "mine\n"
    assert (project / "a").read_text() == "worker\n"


def test_chosen_paths_are_named_as_a_person_does_and_only_they_are_said_to_be_back(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert proctor("rollback", project, "--paths", "./a").startswith("a is what it was at c1; ")
    assert proctor("rollback", project, "--paths", str(project / "c"), "new").startswith("2 paths are what they were")
    capsys.readouterr()
    for paths, why in (
        (["a", "nix"], "nothing at a, nix differs from c1; nothing to take back"),
        (["../a"], f"../a is not in {project}"),
        (["."], "leave --paths out"),
    ):
        assert main(["rollback", str(project), "--paths", *paths]) == 2
        assert why in capsys.readouterr().err
    assert json.loads(proctor("checkpoints", project, "--json"))[-1]["id"] == "c3"


def test_edits_stay_on_request_and_undo_and_redo_follow(project: Path) -> None:
    found = json.loads(proctor("rollback", project, "--keep-mine", "--json"))
    assert (found["target"], found["safety"], found["stays"]) == ("c1", "c2", ["c", "new"])
    assert [one["path"] for one in found["changed"]] == ["a"]
    assert [(project / name).read_text() for name in ("a", "c", "new")] == ["1\n", "mine\n", "mine\n"]
    undone = json.loads(proctor("undo", project, "--json"))
    assert (undone["way"], undone["target"], undone["safety"]) == ("undo", "c2", "c3")
    assert (project / "a").read_text() == "worker\n"
    again = json.loads(proctor("undo", project, "--redo", "--json"))
    assert again["way"] == "redo"
    assert [(project / name).read_text() for name in ("a", "c", "new")] == ["1\n", "mine\n", "mine\n"]
