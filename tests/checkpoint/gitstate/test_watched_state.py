"""The operator's own repository under `bwrap`: never written, and what he did in it meanwhile is told in a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkpoint.gitstate.gits import Repo, make
from checkpoint.gitstate.test_session_state import Session
from proctor.checkpoint.repository import Store


@pytest.fixture
def live(tmp_path: Path) -> Session:
    return Session(tmp_path / "work")


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_his_commits_and_what_he_staged_are_told_and_left(live: Session) -> None:
    first = live.store.snapshot("c1")
    live.git.commit("work.py", "work = 1\n")
    live.user.commit("README", "his own\n")
    (live.work / "src/main.py").write_text("print('his')\n")
    live.user.run("add", "src/main.py")
    second, was = live.store.snapshot("c2"), bytes_of(live.work / ".git")
    back = live.store.restore(second.commit, first.commit)
    assert bytes_of(live.work / ".git") == was
    (line,) = (line for line in back.said if line.startswith("your repository"))
    assert "left as it is: branch main" in line
    assert line.endswith("what is staged")


def test_nothing_is_told_of_a_look_a_fetch_or_the_session_s_branch(live: Session) -> None:
    first = live.store.snapshot("c1")
    live.git.commit("work.py", "work = 1\n")
    live.user.run("update-ref", "refs/remotes/origin/main", "HEAD")
    live.user.run("update-ref", "refs/heads/proctor/7153", "HEAD")
    (live.work / "README").touch()
    live.user.run("status")
    back = live.store.restore(live.store.snapshot("c2").commit, first.commit)
    assert not [line for line in back.said if "your repository" in line]


def test_a_nested_repository_of_his_is_his_too(live: Session) -> None:
    nested = make(live.work / "lib")
    first = live.store.snapshot("c1")
    made = nested.commit("more", "more\n")
    back = live.store.restore(live.store.snapshot("c2").commit, first.commit)
    assert nested.run("rev-parse", "HEAD").strip() == made
    assert any(line.startswith("the repository lib changed since") for line in back.said)


def test_of_a_repository_above_the_workspace_the_same_is_told(tmp_path: Path) -> None:
    git = make(tmp_path / "whole")
    part = git.work / "src"
    store = Store(part, tmp_path / "state" / "checkpoints.git")
    first = store.snapshot("c1")
    git.run("branch", "later")
    (part / "main.py").write_text("print(2)\n")
    back = store.restore(store.snapshot("c2").commit, first.commit)
    assert any("branch later created at " in line for line in back.said)


def test_a_checkpoint_writes_nothing_into_repositories_and_costs_no_objects_when_nothing_changed(live: Session) -> None:
    made = Repo(live.work / "lib")
    made.work.mkdir()
    made.run("init", "-q")
    store = live.store
    first = store.snapshot("c1")
    were = [bytes_of(place) for place in (live.work / ".git", live.git.git_dir, made.git_dir)]
    second = store.snapshot("c2")
    assert [bytes_of(place) for place in (live.work / ".git", live.git.git_dir, made.git_dir)] == were
    assert second.state == first.state
