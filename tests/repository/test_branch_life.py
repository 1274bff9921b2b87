"""The session branch over time: who else moves it, what stands in its way, kills."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoint.photo import git, write
from proctor.checkpoint.store.plumbing import Git
from proctor.errors import ProctorError, Unrecoverable, UsageError
from proctor.repository import bench
from proctor.repository.branch import refusal
from proctor.repository.layout import find
from repository.sitting import NAME, SESSION, Sitting, changed, committed, project, subjects, tree


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return project(tmp_path / "work")


def test_a_branch_that_is_checked_out_is_not_moved(work: Path, tmp_path: Path) -> None:
    sitting = Sitting(work)
    first = sitting.task(1)
    linked = tmp_path / "look"
    git(work, "worktree", "add", "-q", str(linked), NAME)
    write(work / "src/a.py", "a = 2\n")
    done = sitting.verified(2)
    with pytest.raises(UsageError, match=f"{NAME} is checked out in .*look"):
        sitting.publish(done)
    assert git(work, "rev-parse", NAME).strip() == first.commit
    git(linked, "checkout", "-q", "--detach")
    sitting.publish(done)
    assert subjects(work) == ["Task 1: do it", "Task 2: do it"]


def test_a_branch_in_the_middle_of_a_rebase_or_checked_out_in_the_main_worktree_is_not_moved(work: Path) -> None:
    sitting = Sitting(work)
    sitting.task(1)
    write(work / ".git/rebase-merge/head-name", f"refs/heads/{NAME}\n")
    with pytest.raises(UsageError, match="is checked out"):
        sitting.task(2)
    shutil.rmtree(work / ".git/rebase-merge")
    git(work, "checkout", "-q", NAME)
    with pytest.raises(UsageError, match="is checked out"):
        sitting.task(3)
    git(work, "checkout", "-q", "--orphan", NAME.replace("0", "f"))


def test_it_goes_on_from_what_the_operator_put_on_top(work: Path, tmp_path: Path) -> None:
    sitting = Sitting(work)
    write(work / "src/a.py", "a = 2\n")
    sitting.task(1)
    linked = tmp_path / "look"
    git(work, "worktree", "add", "-q", str(linked), NAME)
    write(linked / "src/a.py", "a = 'operator'\n")
    write(linked / "note", "mine\n")
    top = committed(linked, "mine")
    git(work, "worktree", "remove", str(linked))
    write(work / "src/b.py", "b = 2\n")
    sitting.task(2)
    assert git(work, "rev-parse", f"{NAME}^").strip() == top
    assert changed(work) == ["src/b.py"]
    assert git(work, "cat-file", "-p", f"{NAME}:src/a.py") == "a = 'operator'\n"


def test_what_the_operator_changed_on_the_branch_stays_his_however_many_tasks_follow(
    work: Path, tmp_path: Path
) -> None:
    sitting = Sitting(work)
    write(work / "src/a.py", "a = 2\n")
    write(work / "extra", "1\n")
    sitting.task(1)
    linked = tmp_path / "look"
    git(work, "worktree", "add", "-q", str(linked), NAME)
    (linked / "extra").unlink()
    git(linked, "commit", "-q", "-a", "--amend", "--no-edit")
    write(linked / "src/a.py", "a = 'operator'\n")
    committed(linked, "mine")
    git(linked, "checkout", "-q", "--detach")
    for number in (2, 3, 4):
        write(work / "src/b.py", f"b = {number}\n")
        sitting.task(number)
        assert changed(work) == ["src/b.py"]
    git(work, "reflog", "expire", "--expire=now", "--all")
    git(work, "gc", "-q", "--prune=now")  # what the first task's commit was is not known any more
    write(work / "src/b.py", "b = 5\n")
    sitting.task(5)
    assert changed(work) == ["src/b.py"]


def test_a_branch_that_was_merged_and_deleted_begins_anew_from_head(work: Path) -> None:
    sitting = Sitting(work)
    write(work / "src/a.py", "a = 2\n")
    sitting.task(1)
    git(work, "update-ref", "refs/heads/trunk", NAME)
    git(work, "branch", "-q", "-D", NAME)
    write(work / "src/b.py", "b = 2\n")
    sitting.task(2)
    assert subjects(work) == ["Task 2: do it"]


def test_a_branch_that_was_deleted_begins_with_what_was_verified_before(work: Path) -> None:
    sitting = Sitting(work)
    write(work / "src/a.py", "a = 2\n")
    sitting.task(1)
    git(work, "branch", "-q", "-D", NAME)
    write(work / "src/b.py", "b = 2\n")
    sitting.task(2)
    assert subjects(work) == [f"State at checkpoint c2 of session {SESSION}", "Task 2: do it"]
    assert changed(work) == ["src/b.py"]


def test_after_a_rollback_the_branch_goes_on_to_the_tree_that_was_verified(work: Path) -> None:
    sitting = Sitting(work)
    write(work / "src/a.py", "a = 2\n")
    write(work / "x.py", "1\n")
    sitting.task(1)
    write(work / "src/a.py", "a = 1\n")
    (work / "x.py").unlink()
    write(work / "y.py", "1\n")
    sitting.task(1)
    assert subjects(work) == ["Task 1: do it"] * 2
    assert "x.py" not in tree(work)
    assert tree(work)["src/a.py"] == tree(work, "trunk")["src/a.py"]


def test_what_stands_in_the_way_is_one_sentence_and_a_later_try_catches_up(work: Path) -> None:
    sitting = Sitting(work)
    git(work, "branch", "proctor")
    done = sitting.verified(1)
    with pytest.raises(ProctorError) as refused:
        sitting.publish(done)
    assert "\n" not in str(refused.value)
    git(work, "branch", "-D", "-q", "proctor")
    lock = write(work / f".git/refs/heads/{NAME}.lock", "")
    with pytest.raises(ProctorError):
        sitting.publish(done)
    lock.unlink()
    sitting.publish(done)
    assert subjects(work) == ["Task 1: do it"]
    shutil.move(work / ".git", work / ".gone")
    with pytest.raises(ProctorError):
        sitting.task(2)


def test_a_symbolic_branch_is_not_followed(work: Path) -> None:
    sitting = Sitting(work)
    git(work, "symbolic-ref", f"refs/heads/{NAME}", "refs/heads/trunk")
    before = git(work, "rev-parse", "trunk")
    with pytest.raises(UsageError, match="no branch"):
        sitting.task(1)
    assert git(work, "rev-parse", "trunk") == before


def test_where_there_can_be_no_branch_it_says_why(tmp_path: Path, work: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    assert refusal(find(plain)) == "there is no git repository"
    assert refusal(find(work)) == ""
    git(plain, "init", "-q")
    git(plain, "config", "extensions.objectFormat", "sha256")
    assert "sha256" in refusal(find(plain))


def test_a_full_disk_is_one_sentence_and_moves_nothing(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sitting = Sitting(work)
    write(work / "src/a.py", "a = 2\n")
    done = sitting.verified(1)

    def full(path: Path, place: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(place))

    with monkeypatch.context() as patch:
        patch.setattr(bench, "adopt", full)
        with pytest.raises(Unrecoverable, match="No space left"):
            sitting.publish(done)
    assert git(work, "for-each-ref", "refs/heads/proctor") == ""
    sitting.publish(done)
    assert subjects(work) == ["Task 1: do it"]


@pytest.mark.parametrize("stride", [4, pytest.param(1, marks=pytest.mark.kills)])
def test_a_kill_between_any_two_steps_leaves_the_commit_or_none(
    work: Path, monkeypatch: pytest.MonkeyPatch, stride: int
) -> None:
    write(work / ".gitattributes", "*.txt text\n")
    sitting = Sitting(work)
    write(work / "a.txt", "1\r\n")
    done = sitting.verified(1)
    for steps in itertools.count(step=stride):
        child = os.fork()
        if not child:
            die_after(steps, monkeypatch)
            sitting.branch.publish(done, sitting.start, sitting.points)
            os._exit(0)
        ended = os.waitpid(child, 0)[1]
        listed = git(work, "for-each-ref", "--format=%(objectname)", "refs/heads").split()
        assert len(listed) in (1, 2)
        assert git(work, "fsck", "--full", "--no-dangling") == ""
        assert sitting.branch.publish(done, sitting.start, sitting.points)
        assert subjects(work) == [f"State at the start of session {SESSION}", "Task 1: do it"]
        if not ended:
            break
        git(work, "update-ref", "-d", f"refs/heads/{NAME}")
    assert steps > 10


def die_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill this process at its next step but so many: a command of git's, a file put in its place."""
    left = itertools.count(steps, -1)

    def dying(step: Callable[..., Any]) -> Callable[..., Any]:
        def take(*given: Any, **named: Any) -> Any:
            if not next(left):
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*given, **named)

        return take

    monkeypatch.setattr(Git, "start", dying(Git.start))
    monkeypatch.setattr(bench, "adopt", dying(bench.adopt))
