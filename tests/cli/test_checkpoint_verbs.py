"""The verbs about checkpoints as a person uses them, without a session that is up: words, data, and refusals."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from proctor.cli.main import main
from proctor.supervisor import past

CONTRACT = "goal: g\nworker: {kind: command, command: [sh]}\nbudget: {wall_clock: {limit: 5m, on_exhaustion: stop}}\n"


class Project:
    """A folder, and the command line on it."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path = path
        self._capsys = capsys

    def run(self, verb: str, *words: str, code: int = 0) -> tuple[str, str]:
        """What a verb prints to stdout and stderr; its exit code is as expected."""
        found = main([verb, str(self.path), *words])
        out, err = self._capsys.readouterr()
        assert found == code, out + err
        return out, err

    def data(self, verb: str, *words: str, code: int = 0) -> Any:
        return json.loads(self.run(verb, *words, "--json", code=code)[0])

    def refused(self, verb: str, *words: str) -> str:
        """The one line of a refusal."""
        _, err = self.run(verb, *words, code=2)
        assert err.startswith("proctor: ")
        assert err.count("\n") == 1, err
        return err


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    path = tmp_path / "project"
    path.mkdir()
    (path / "proctor.yaml").write_text(CONTRACT)
    (path / ".gitignore").write_text(".env\ncache/\n")
    (path / "a.txt").write_text("one\n")
    (path / ".env").write_text("TOKEN=hush\n")
    (path / "cache").mkdir()
    return Project(path, capsys)


def git(where: Path, *words: str) -> str:
    names = ("-c", "user.name=U", "-c", "user.email=u@example.org", "-c", "safe.directory=*")
    return subprocess.run(["git", *names, *words], cwd=where, capture_output=True, text=True, check=True).stdout


def test_a_checkpoint_with_a_name_and_a_note(project: Project) -> None:
    out, _ = project.run("checkpoint", "--name", "before-refactor", "--note", "all green")
    assert out.startswith("checkpoint c1 (before-refactor): 3 files")
    (found,) = project.data("checkpoints")
    assert (found["id"], found["name"], found["last_good"], found["undo"]) == ("c1", "before-refactor", True, False)
    assert "before-refactor: all green  <- last good" in project.run("checkpoints")[0]


def test_a_checkpoint_as_data(project: Project) -> None:
    found = project.data("checkpoint", "--name", "mine")
    assert found["said"].startswith("checkpoint c1 (mine): 3 files")
    assert found["checkpoint_taken"]["id"] == "c1"
    assert found["checkpoint_taken"]["name"] == "mine"


def test_names_that_cannot_be_are_refused_and_nothing_is_kept(project: Project) -> None:
    project.run("checkpoint", "--name", "mine")
    assert "c1 is called 'mine' already" in project.refused("checkpoint", "--name", "mine")
    assert "choose another" in project.refused("checkpoint", "--name", "c12")
    assert "letters, digits" in project.refused("checkpoint", "--name", "two words")
    assert len(project.data("checkpoints")) == 1


@pytest.mark.parametrize(
    ("verb", "option"),
    [
        ("rollback", "--to="),
        ("rollback", "--to=--"),
        ("show", "--id="),
        ("diff", "--from="),
        ("export", "--branch="),
        ("checkpoint", "--name="),
    ],
)
def test_an_empty_value_is_not_the_same_as_none(project: Project, verb: str, option: str) -> None:
    project.run("checkpoint")
    (project.path / "a.txt").write_text("two\n")
    with pytest.raises(SystemExit, match="2"):
        project.run(verb, option)
    assert (project.path / "a.txt").read_text() == "two\n"
    assert len(project.data("checkpoints")) == 1


def test_an_empty_folder_name_is_not_the_current_folder(monkeypatch: pytest.MonkeyPatch, project: Project) -> None:
    monkeypatch.chdir(project.path)
    with pytest.raises(SystemExit, match="2"):
        main(["checkpoint", ""])
    assert not (project.path / ".proctor").exists()


def test_older_than_the_calendar_is_nothing(project: Project) -> None:
    project.run("checkpoint")
    assert project.run("prune", "--keep", "99999999999d")[0] == "nothing to prune\n"


def test_a_name_goes_wherever_an_id_goes(project: Project) -> None:
    project.run("checkpoint", "--name", "good")
    (project.path / "a.txt").write_text("two\n")
    project.run("checkpoint")
    assert project.data("diff", "--from", "good", "--to", "c2")["from"] == "c1"
    assert project.data("show", "--id", "good")["id"] == "c1"
    project.run("rollback", "--to", "good")
    assert (project.path / "a.txt").read_text() == "one\n"


def test_show_tells_what_a_checkpoint_holds_and_what_it_does_not(project: Project) -> None:
    project.run("checkpoint")
    (project.path / "a.txt").write_text("two\n")
    (project.path / "cache" / "big").write_text("x")
    os.mkfifo(project.path / "pipe")
    project.run("checkpoint", "--name", "mine")
    found = project.data("show", "--id", "mine")
    assert found["kept_although_ignored"] == [".env"]
    assert found["not_kept"]["ignored_folders"] == ["cache"]
    assert found["changed"]["since"] == "c1"
    assert found["changed"]["folders_not_kept"] == ["cache"]
    assert ("a.txt", "modified", 1, 1) in [
        (one["path"], one["kind"], one["added"], one["removed"]) for one in found["changed"]["files"]
    ]
    assert found["record"]["id"] == "c2"
    assert (found["record"]["environment"], found["record"]["ledger"]) == (None, None)
    out, _ = project.run("show", "--id", "c2")
    assert out == project.run("show")[0]  # the last good one
    for words in ("mine: kept by you", "cache", ".env", "~ a.txt  +1 -1", found["taken"]["commit"]):
        assert words in out


@pytest.mark.parametrize("verb", [["show", "--id", "nix"], ["diff", "--from", "nix"], ["export", "--id", "nix",
                                  "--bundle", "x.bundle"], ["rollback", "--to", "nix"]])  # fmt: skip
def test_a_checkpoint_that_there_is_not_is_told_with_those_there_are(project: Project, verb: list[str]) -> None:
    project.run("checkpoint", "--name", "mine")
    assert "no checkpoint 'nix'; there are: c1 (mine)" in project.refused(verb[0], *verb[1:])


def test_the_list_marks_where_the_next_undo_and_redo_go(project: Project) -> None:
    def marked() -> list[tuple[str, bool, bool]]:
        return [
            (one["id"], one["undo"], one["redo"]) for one in project.data("checkpoints") if one["undo"] or one["redo"]
        ]

    project.run("checkpoint")
    for _ in "12":
        (project.path / "a.txt").write_text("two\n")
        project.run("rollback")
    assert marked() == [("c3", True, False)]
    project.run("undo")
    assert marked() == [("c2", True, False), ("c4", False, True)]
    assert "undo goes here" in project.run("checkpoints")[0]


@pytest.mark.parametrize("verb", ["show", "diff", "checkpoints", "export", "prune"])
def test_without_a_session_there_is_one_line(project: Project, verb: str) -> None:
    more = {"show": ["--id", "c1"], "export": ["--bundle", "x.bundle"]}.get(verb, [])
    assert "no session here yet" in project.refused(verb, *more)


@pytest.mark.parametrize(
    ("verb", "option"), [("show", "--id"), ("export", "--id"), ("diff", "--from"), ("rollback", "--to")]
)
def test_an_id_that_is_given_for_a_folder_is_told_where_it_goes(
    verb: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "c1"]) == 2
    assert f"a checkpoint is named with {option}: proctor {verb} {option} c1" in capsys.readouterr().err


def test_below_a_session_its_folder_is_named(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.run("checkpoint")
    (project.path / "inner").mkdir()
    assert main(["checkpoints", str(project.path / "inner")]) == 2
    assert f"there is one of {project.path}: name that folder" in capsys.readouterr().err


def test_the_screen_s_patch_says_what_it_compares(project: Project) -> None:
    project.run("checkpoint")
    assert past.patch(project.path) == ""
    (project.path / "a.txt").write_text("two\n")
    lines = past.patch(project.path).split("\n")
    assert lines[0] == "From c1 (kept by you) to the present: 1 path, 1 line added, 1 removed"
    assert lines[2].startswith("diff --git")


def test_diff_without_words_shows_the_whole_session_where_nothing_is_new(project: Project) -> None:
    project.run("checkpoint")
    (project.path / "a.txt").write_text("two\n")
    out, err = project.run("diff")
    assert "+two" in out
    assert err == "from c1 (kept by you) to the present: 1 path, 1 line added, 1 removed\n"
    project.run("checkpoint")
    out, err = project.run("diff")
    assert "+two" in out
    assert err.startswith("nothing has changed since c2 (kept by you); all of the session: from c1")


def test_diff_of_nothing_says_between_what(project: Project) -> None:
    project.run("checkpoint")
    assert project.run("diff")[0].startswith("nothing changed: from c1 (kept by you) to the present")
    found = project.data("diff", "--from", "start", "--to", "present")
    assert found == {"from": "c1", "to": "present", "files": [], "patch": ""}


def test_undo_says_why_there_is_nothing_to_undo(project: Project) -> None:
    project.run("checkpoint")
    said = project.refused("undo")
    assert "nothing was rolled back" in said
    assert "c1" in said
    assert "nothing to redo" in project.refused("undo", "--redo")


def test_verify_says_which_checkpoint_is_lost(project: Project) -> None:
    project.run("checkpoint")
    (project.path / "only-here").write_text("once\n" * 100)
    project.run("checkpoint")
    assert "2 checkpoints of 2 whole" in project.run("checkpoints", "--verify")[0]
    (project.path / "only-here").unlink()
    project.run("checkpoint")
    listed = project.data("checkpoints")
    store = project.path / ".proctor" / "checkpoints.git"
    (store / "refs" / "proctor" / "c2").unlink()
    out, err = project.run("checkpoints", "--verify", code=1)
    assert "2 checkpoints of 3 whole" in out
    assert err.startswith("proctor: checkpoint c2 is not whole: no ref keeps it")
    found = project.data("checkpoints", "--verify", code=1)
    assert [one["whole"] for one in found] == [True, False, True]
    assert [one["id"] for one in listed] == ["c1", "c2", "c3"]


def test_prune_lets_go_of_what_nothing_needs(project: Project) -> None:
    for text in "abcd":
        (project.path / "a.txt").write_text(text)
        project.run("checkpoint", *(["--name", "mine"] if text == "c" else []))
    assert project.data("prune", "--keep", "0", "--dry-run")["checkpoints"] == ["c2"]
    assert len(project.data("checkpoints")) == 4
    assert "nothing to prune" in project.run("prune")[0]  # 30 days, by the contract's default
    found = project.data("prune", "--keep", "0")
    assert found["checkpoints_pruned"]["ids"] == ["c2"]
    assert [one["id"] for one in project.data("checkpoints")] == ["c1", "c3", "c4"]
    for verb in (["show", "--id"], ["rollback", "--to"], ["diff", "--from"]):
        assert "c2 was pruned on 20" in project.refused(*verb, "c2")


def test_prune_wants_a_time(project: Project) -> None:
    project.run("checkpoint")
    assert "--keep" in project.refused("prune", "--keep", "soon")
    (project.path / "proctor.yaml").write_text(CONTRACT + "state: {checkpoint: {keep: never}}\n")
    assert "say how long with --keep" in project.refused("prune")
    (project.path / "proctor.yaml").write_text(CONTRACT + "state: {checkpoint: {keep: 1ms}}\n")
    project.run("checkpoint")
    project.run("checkpoint")
    assert project.data("prune")["checkpoints_pruned"]["ids"] == ["c2"]


def test_export_into_a_bundle_and_onto_a_branch(project: Project, tmp_path: Path) -> None:
    git(project.path, "init", "-q")
    git(project.path, "add", ".gitignore", "proctor.yaml")
    git(project.path, "commit", "-q", "-m", "first")
    (project.path / "proctor.yaml").write_text(CONTRACT + "state: {hide: [private/]}\n")
    (project.path / "private").mkdir()
    (project.path / "private" / "key").write_text("key\n")
    project.run("checkpoint", "--name", "mine")
    bundle = str(tmp_path / "out.bundle")
    found = project.data("export", "--bundle", bundle)
    assert (found["checkpoint"], found["files"], found["bundle"]) == ("c1", 2, bundle)
    assert any(".env" in line for line in found["left_out"])
    git(tmp_path, "clone", "-q", bundle, "clone")
    assert set(git(tmp_path / "clone", "ls-files").split()) == {".gitignore", "a.txt"}
    out, _ = project.run("export", "--id", "mine", "--branch", "kept")
    assert out.startswith("branch kept: checkpoint c1, 2 files, commit ")
    assert set(git(project.path, "ls-tree", "-r", "--name-only", "kept").split()) >= {".gitignore", "a.txt"}
    assert "something already" in project.refused("export", "--bundle", bundle)
    assert "one of --bundle" in project.refused("export")
    assert "one of --bundle" in project.refused("export", "--bundle", "x", "--branch", "y")
