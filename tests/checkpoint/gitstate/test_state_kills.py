"""A rollback of repositories that is killed between any two of its steps is finished by running it again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint.gitstate.gits import Repo, make
from checkpoint.gitstate.test_session_state import Session, merging, staging, stashing
from checkpoint.gitstate.test_shared_state import apart_from_settings, opened
from proctor.checkpoint.gitstate.folder import GitFolder
from proctor.checkpoint.repository import Store

STEPS = ("write", "remove", "rename", "link", "remove_empty")
KILLED = 9


def dying_after(steps: int, deed: Callable[[], object]) -> bool:
    """Do it in a process of its own that is gone before its step of this number; whether it came so far."""
    child = os.fork()
    if child == 0:
        try:
            left = [steps]
            for name in STEPS:
                setattr(GitFolder, name, _counted(getattr(GitFolder, name), left))
            deed()
            os._exit(0)
        except BaseException:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, KILLED)
    return code == KILLED


def _counted(method: Callable[..., object], left: list[int]) -> Callable[..., object]:
    def counted(*args: object, **kwargs: object) -> object:
        left[0] -= 1
        if left[0] < 0:
            os._exit(KILLED)
        return method(*args, **kwargs)

    return counted


def killed_everywhere(store: Store, way: tuple[str, str], see: Callable[[], object], was: object, stride: int) -> int:
    """Roll back again and again, killed ever later, each time finished and undone; how often it was killed."""
    first, second = way
    kills = 0
    while dying_after(kills * stride, lambda: store.restore(second, first)):
        said = store.restore(second, first).said
        assert see() == was, said
        store.restore(first, second)
        kills += 1
    assert see() == was
    return kills


def test_three_nested_repositories_and_the_one_around_them(tmp_path: Path) -> None:
    git = make(tmp_path / "work")
    nested = [make(git.work / "lib0")]
    for number in (1, 2):
        shutil.copytree(nested[0].work, git.work / f"lib{number}")
        nested.append(Repo(git.work / f"lib{number}"))
    repos = [git, *nested]
    store = opened(git.work)
    first, was = store.snapshot("c1"), [apart_from_settings(repo.photograph()) for repo in repos]
    for repo, deed in zip(repos, (staging, merging, stashing, staging), strict=True):
        deed(repo)
        repo.run("branch", "more")
    second = store.snapshot("c2")

    def see() -> list[dict[str, object]]:
        assert not list(git.work.rglob(".git?*"))
        return [apart_from_settings(repo.photograph()) for repo in repos]

    assert killed_everywhere(store, (first.commit, second.commit), see, was, 9) > 2


def test_the_session_s_repository(tmp_path: Path) -> None:
    live = Session(tmp_path / "work")
    store, git = live.store, live.git
    first, was = store.snapshot("c1"), git.photograph()
    merging(git)
    second = store.snapshot("c2")
    assert killed_everywhere(store, (first.commit, second.commit), git.photograph, was, 4) > 2


def test_a_repository_that_was_made_again_halfway(tmp_path: Path) -> None:
    git = make(tmp_path / "work")
    nested = make(git.work / "lib")
    store = opened(git.work)
    first, was = store.snapshot("c1"), apart_from_settings(nested.photograph())
    shutil.rmtree(nested.git_dir)
    second = store.snapshot("c2")
    for steps in (1, 5, 12, 20):
        assert dying_after(steps, lambda: store.restore(second.commit, first.commit))
        store.restore(second.commit, first.commit)
        assert apart_from_settings(nested.photograph()) == was
        shutil.rmtree(nested.git_dir)


@pytest.mark.parametrize("ours", [True, False])
def test_a_lock_that_the_killed_one_left_is_its_own_and_anyone_else_s_is_not(tmp_path: Path, ours: bool) -> None:
    git = make(tmp_path / "work")
    store = opened(git.work)
    first, head = store.snapshot("c1"), git.run("rev-parse", "HEAD")
    staging(git)
    second = store.snapshot("c2")
    steps = 0
    while not (git.git_dir / "index.lock").exists():
        assert dying_after(steps, lambda: store.restore(second.commit, first.commit))
        steps += 1
    if not ours:
        (git.git_dir / "index.lock").unlink()
        (git.git_dir / "index.lock").write_text("another's")
    back = store.restore(second.commit, first.commit)
    assert (git.git_dir / "index.lock").exists() is not ours
    assert any("left as it is" in line for line in back.said) is not ours
    assert git.run("rev-parse", "HEAD") == head
