"""The session repository is kept while it fits, replaced when it does not, and whole at every moment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.errors import UsageError
from proctor.repository import session as module
from proctor.repository.layout import find
from proctor.repository.session import prepare, ready, rest
from repository.conftest import git, inside, new_repository, session


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "work")


@pytest.fixture
def folder(top: Path) -> Path:
    place = top / ".proctor" / "session.git"
    session(top, "git commit -q --allow-empty -m Worker; git branch mine")
    return place


def again(top: Path, folder: Path) -> list[str]:
    said: list[str] = []
    assert prepare(find(top), folder, say=said.append) is not None
    return said


def subject(top: Path, folder: Path) -> str:
    return inside(prepare(find(top), folder), top, "git log -1 --format=%s").strip()


def nothing(top: Path) -> None:
    pass


def looking(top: Path) -> None:
    git(top, "status")
    git(top, "diff")
    git(top, "gc", "-q")


def fetching(top: Path) -> None:
    git(top.parent, "clone", "-q", "work", "remote")
    git(top, "update-ref", "refs/remotes/origin/main", "HEAD")


def publishing(top: Path) -> None:
    git(top, "update-ref", "refs/heads/proctor/s1", "HEAD")


def touching(top: Path) -> None:
    (top / "part0" / "file0.txt").write_text("worked on\n")
    git(top, "update-index", "--refresh", ok=False)


@pytest.mark.parametrize("act", [nothing, looking, fetching, publishing, touching])
def test_it_is_kept_with_the_worker_s_commits(top: Path, folder: Path, act: Callable[[Path], None]) -> None:
    act(top)
    assert again(top, folder) == []
    assert subject(top, folder) == "Worker"


def committing(top: Path) -> None:
    git(top, "commit", "-q", "--allow-empty", "-m", "Mine")


def switching(top: Path) -> None:
    git(top, "checkout", "-qb", "other")


def staging(top: Path) -> None:
    (top / "new").touch()
    git(top, "add", "new")


def flagging(top: Path) -> None:
    git(top, "update-index", "--skip-worktree", "part0/file0.txt")


def branching(top: Path) -> None:
    git(top, "branch", "side")


def setting(top: Path) -> None:
    git(top, "config", "--global", "user.name", "Other")


def ignoring(top: Path) -> None:
    (top / ".git" / "info" / "exclude").write_text("*.x\n")


def borrowing(top: Path) -> None:
    other = new_repository(top.parent / "other")
    (top / ".git" / "objects" / "info" / "alternates").write_text(f'# a note\n"{other}/.git/obj\\145cts"\n')


@pytest.mark.parametrize("act", [committing, switching, staging, flagging, branching, setting, ignoring, borrowing])
def test_it_moves_aside_when_the_repository_has_changed_and_that_is_said(
    top: Path, folder: Path, act: Callable[[Path], None]
) -> None:
    act(top)
    (said,) = again(top, folder)
    assert "your repository has changed" in said
    kept = top / ".proctor" / "kept" / "session-1.git"
    assert str(kept) in said
    assert (kept / "refs" / "heads" / "mine").exists()
    assert subject(top, folder) != "Worker"
    assert again(top, folder) == []


def test_what_no_repository_is_any_more_moves_aside_each_under_its_own_number(top: Path, folder: Path) -> None:
    for number in (1, 2):
        session(top, "rm -rf .git/objects .git/modules; ln -s / .git/objects; ln -s /etc .git/modules")
        (said,) = again(top, folder)
        assert f"session-{number}.git" in said
        assert "the worker broke its own git repository" in said
    assert subject(top, folder) == "First"


@pytest.mark.parametrize("made", ["rm -rf .git/modules", "rm -rf .git/modules; ln -s /etc .git/modules", "true"])
def test_the_mount_point_of_modules_is_a_folder_whatever_a_worker_made_of_it(
    top: Path, folder: Path, made: str
) -> None:
    session(top, made)
    ready(folder)
    assert (folder / "modules").is_dir()
    assert not (folder / "modules").is_symlink()


def test_at_rest_it_is_no_repository_and_wakes_as_it_was(top: Path, folder: Path) -> None:
    for _ in range(2):
        rest(folder)
        rest(folder)
        assert not (folder / "HEAD").exists()
        assert git(folder, "rev-parse", "--absolute-git-dir").strip() == str(top / ".git")
        assert subject(top, folder) == "Worker"
    rest(folder)
    shutil.rmtree(folder / "refs")
    rest(folder)


@pytest.mark.parametrize("step", ["_make", "_put_aside", "write_file", "_sync"])
def test_a_fault_at_any_step_leaves_something_to_begin_from(
    top: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    committing(top)
    whole = getattr(module, step)
    monkeypatch.setattr(module, step, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        prepare(find(top), folder)
    monkeypatch.setattr(module, step, whole)
    assert subject(top, folder) == "Mine"
    kept = [place for place in (top / ".proctor" / "kept").iterdir() if (place / "refs" / "heads" / "mine").exists()]
    assert len(kept) == 1
    assert again(top, folder) == []
    assert [name for name in os.listdir(top / ".proctor") if "draft" in name] == []


def test_a_repository_that_git_cannot_read_is_told_in_one_line(top: Path) -> None:
    (top / ".git" / "index").write_bytes(b"DIRC nonsense")
    with pytest.raises(UsageError) as refused:
        prepare(find(top), top.parent / "session.git")
    assert str(refused.value).count("\n") == 0
    assert str(top / ".git") in str(refused.value)


def test_there_is_no_git_where_nothing_can_be_made_above_the_workspace(tmp_path: Path) -> None:
    said: list[str] = []
    place = Path("/usr/share")
    assert prepare(find(place), tmp_path / "session.git", always=True, say=said.append) is None
    assert "read-only" in said[0]
