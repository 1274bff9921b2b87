"""The operator's own repositories where a worker has them too (`weak`, `none`): what is moved back, and what is not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint.gitstate.gits import Repo, make
from checkpoint.gitstate.test_session_state import DEEDS, bisecting, detaching, unstaging_all
from checkpoint.photo import photograph, write
from proctor.checkpoint.repository import Store
from proctor.checkpoint.store import command

PLAIN = (bisecting, detaching, unstaging_all)
"""Done in the session's alone: nothing in them is another's matter."""


@pytest.fixture
def git(tmp_path: Path) -> Repo:
    return make(tmp_path / "work")


@pytest.fixture
def store(git: Repo) -> Store:
    return opened(git.work)


def opened(work: Path) -> Store:
    return Store(work, work.parent / "state" / "checkpoints.git", theirs=True)


def apart_from_settings(photo: dict[str, object]) -> dict[str, object]:
    """Without what a rollback leaves alone in the operator's repository."""
    kept = photo["files"]
    assert isinstance(kept, dict)
    apart = ("config", "hooks/", "info/", "description", "COMMIT_EDITMSG", "gc.log", "logs/refs/remotes/", "FETCH_HEAD")
    return photo | {"files": {name: body for name, body in kept.items() if not name.startswith(apart)}}


@pytest.mark.parametrize("deed", [deed for deed in DEEDS if deed not in PLAIN], ids=lambda deed: str(deed.__name__))
def test_a_rollback_takes_back_refs_index_stash_and_what_was_going_on(
    git: Repo, store: Store, deed: Callable[[Repo], None]
) -> None:
    first, was, files_were = store.snapshot("c1"), git.photograph(), photograph(git.work)
    deed(git)
    second, then, files_then = store.snapshot("c2"), git.photograph(), photograph(git.work)
    assert second.state != first.state
    store.restore(second.commit, first.commit)
    assert apart_from_settings(git.photograph()) == apart_from_settings(was)
    assert photograph(git.work) == files_were
    assert store.snapshot("c3").state == first.state
    store.restore(first.commit, second.commit)
    assert apart_from_settings(git.photograph()) == apart_from_settings(then)
    assert photograph(git.work) == files_then
    assert store.snapshot("c4").state == second.state
    git.check()


def test_what_was_fetched_or_pushed_stays_and_it_is_said(git: Repo, store: Store, tmp_path: Path) -> None:
    make(tmp_path / "source")
    shutil.copytree(tmp_path / "source" / ".git", tmp_path / "remote")
    Repo(git.work, tmp_path / "remote").run("config", "core.bare", "true")
    git.run("remote", "add", "origin", str(tmp_path / "remote"))
    git.run("push", "-q", "-f", "origin", "main")
    git.run("push", "-q", "-u", "origin", "main")
    first, head = store.snapshot("c1"), git.run("rev-parse", "HEAD")
    pushed = git.commit("more", "more\n")
    git.run("push", "-q")
    git.run("branch", "proctor/0123")
    second = store.snapshot("c2")
    back = store.restore(second.commit, first.commit)
    assert git.run("rev-parse", "HEAD") == head
    assert git.run("rev-parse", "origin/main").strip() == git.run("rev-parse", "proctor/0123").strip() == pushed
    assert any("were pushed" in line for line in back.said)
    assert any(line.startswith("your repository: branch main") for line in back.said)


def test_a_live_lock_is_respected_and_the_repository_left_as_it_is(git: Repo, store: Store) -> None:
    first = store.snapshot("c1")
    git.commit("more", "more\n")
    second, then = store.snapshot("c2"), git.photograph()
    lock = write(git.git_dir / "index.lock", "git is at work")
    back = store.restore(second.commit, first.commit)
    assert lock.read_text() == "git is at work"
    lock.unlink()
    after = git.photograph()
    assert (after["rev-parse -q --verify HEAD"], after["ls-files -s -v"], after["files"]) == (
        then["rev-parse -q --verify HEAD"],
        then["ls-files -s -v"],
        then["files"],
    )
    assert any("left as it is" in line and "index.lock" in line for line in back.said)


def test_a_ref_that_somebody_moved_after_the_safety_checkpoint_keeps_what_he_gave_it(git: Repo, store: Store) -> None:
    first = store.snapshot("c1")
    git.commit("more", "more\n")
    second = store.snapshot("c2")
    late = git.run("commit-tree", "-m", "late", "-p", "HEAD", "HEAD^{tree}").strip()
    git.run("update-ref", "refs/heads/main", late)
    back = store.restore(second.commit, first.commit)
    assert git.run("rev-parse", "main").strip() == late
    assert any("left as it is" in line for line in back.said)


def test_what_began_after_the_safety_checkpoint_is_not_taken_away(git: Repo, store: Store) -> None:
    first = store.snapshot("c1")
    git.commit("more", "more\n")
    second = store.snapshot("c2")
    merge = write(git.git_dir / "MERGE_HEAD", git.run("rev-parse", "HEAD~1"))
    back = store.restore(second.commit, first.commit)
    assert merge.exists()
    assert any("left as it is" in line and "MERGE_HEAD" in line for line in back.said)


def test_a_linked_worktree_moves_its_own_branch_and_no_other(git: Repo, tmp_path: Path) -> None:
    git.run("branch", "other")
    git.run("worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    linked = Repo(tmp_path / "linked", git.git_dir / "worktrees" / "linked")
    store = opened(linked.work)
    first, was = store.snapshot("c1"), linked.run("rev-parse", "HEAD")
    linked.commit("work", "work\n")
    (linked.work / "README").write_text("staged\n")
    linked.run("add", "README")
    mine = git.commit("mine", "mine\n")
    git.run("branch", "-f", "other", "main")
    second = store.snapshot("c2")
    store.restore(second.commit, first.commit)
    assert linked.run("rev-parse", "HEAD") == was
    assert linked.run("status", "--porcelain") == ""
    assert git.run("rev-parse", "main").strip() == git.run("rev-parse", "other").strip() == mine
    assert store.snapshot("c3").state == first.state
    git.check()


@pytest.mark.parametrize("count", [1, 50])
def test_nested_repositories_go_back_with_the_workspace(git: Repo, store: Store, count: int) -> None:
    nested = [make(git.work / "lib0")]
    for number in range(1, count):
        shutil.copytree(nested[0].work, git.work / f"lib{number}")
        nested.append(Repo(git.work / f"lib{number}"))
    bare = Repo(git.work / "empty")
    bare.work.mkdir()
    bare.run("init", "-q")
    first = store.snapshot("c1")
    was = [repo.photograph() for repo in (*nested[:3], bare)]
    for repo in (*nested[:3], bare):
        repo.commit("more", "more\n")
    second = store.snapshot("c2")
    store.restore(second.commit, first.commit)
    for repo, photo in zip((*nested[:3], bare), was, strict=True):
        assert apart_from_settings(repo.photograph()) == apart_from_settings(photo)
    assert store.snapshot("c3").state == first.state


def test_a_nested_repository_that_is_gone_is_made_again(git: Repo, store: Store) -> None:
    nested = make(git.work / "lib")
    nested.run("config", "alias.co", "checkout")
    first, was = store.snapshot("c1"), nested.photograph()
    shutil.rmtree(nested.work)
    second = store.snapshot("c2")
    back = store.restore(second.commit, first.commit)
    assert apart_from_settings(nested.photograph()) == apart_from_settings(was)
    assert nested.run("config", "alias.co") == "checkout\n"
    assert any("made again" in line for line in back.said)
    nested.check()
    assert store.snapshot("c3").state == first.state


def test_a_submodule_goes_back_with_its_refs_and_its_index(git: Repo, store: Store, tmp_path: Path) -> None:
    make(tmp_path / "source")
    git.run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "source"), "sub")
    git.run("commit", "-q", "-m", "with a submodule")
    sub = Repo(git.work / "sub", git.git_dir / "modules" / "sub")
    first, was, top = store.snapshot("c1"), sub.photograph(), git.photograph()
    sub.commit("more", "more\n")
    git.run("add", "sub")
    git.run("commit", "-q", "-m", "moved it")
    second = store.snapshot("c2")
    store.restore(second.commit, first.commit)
    assert apart_from_settings(sub.photograph()) == apart_from_settings(was)
    assert apart_from_settings(git.photograph()) == apart_from_settings(top)


def test_of_chosen_paths_only_a_nested_repository_goes_back(git: Repo, store: Store) -> None:
    nested = make(git.work / "lib")
    first, was = store.snapshot("c1"), nested.run("rev-parse", "HEAD")
    nested.commit("more", "more\n")
    mine = git.commit("mine", "mine\n")
    second = store.snapshot("c2")
    store.restore(second.commit, first.commit, ("README",))
    assert nested.run("rev-parse", "HEAD") != was
    store.restore(store.snapshot("c3").commit, first.commit, ("lib",))
    assert nested.run("rev-parse", "HEAD") == was
    assert git.run("rev-parse", "HEAD").strip() == mine


def test_the_operator_s_repository_itself_is_made_again_when_a_worker_removed_it(git: Repo, store: Store) -> None:
    git.run("gc", "-q")
    store.snapshot("c1")
    git.commit("work.py", "work = 1\n")
    first, was = store.snapshot("c2"), git.photograph()
    shutil.rmtree(git.git_dir)
    back = store.restore(store.snapshot("c3").commit, first.commit)
    assert apart_from_settings(git.photograph()) == apart_from_settings(was), back.said
    git.check()


def test_it_is_said_when_what_a_repository_had_before_is_in_no_checkpoint(git: Repo, store: Store) -> None:
    git.run("gc", "-q")
    store.snapshot("c1")
    git.commit("work.py", "work = 1\n")
    store.gc({store.snapshot("c2").commit})  # with it goes what the operator's history lent
    first = store.snapshot("c3")
    shutil.rmtree(git.git_dir)
    back = store.restore(store.snapshot("c4").commit, first.commit)
    assert any("in no checkpoint and gone" in line for line in back.said)


def test_a_repository_with_longer_ids_goes_back_while_its_objects_last(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    git = Repo(tmp_path / "work")
    git.run("init", "-q", "-b", "main", "--object-format=sha256")
    git.commit("README", "a project\n")
    store = opened(git.work)
    first, was = store.snapshot("c1"), git.photograph()
    git.commit("more", "more\n")
    git.run("branch", "other")
    second = store.snapshot("c2")
    assert any("sha256" in line for line in second.skipped)
    store.restore(second.commit, first.commit)
    assert apart_from_settings(git.photograph()) == apart_from_settings(was)


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("name", [".git", "nested/.git"])
def test_a_repository_elsewhere_that_a_git_file_leads_to_is_never_written(
    git: Repo, store: Store, tmp_path: Path, name: str, is_known: bool
) -> None:
    other = make(tmp_path / "other")
    other.run("branch", "precious")
    other.commit("mine", "mine\n")
    make(git.work / "nested")
    first = store.snapshot("c1")
    place = git.work / name
    place.rename(place.with_name("aside"))
    place.write_text(f"gitdir: {other.git_dir}\n")
    if is_known:
        first = store.snapshot("c2")
        other.commit("more", "more\n")
        (git.work / "new").touch()
    was = other.photograph()
    store.restore(store.snapshot("c3").commit, first.commit)
    assert other.photograph() == was


def test_another_repository_in_the_place_of_the_workspace_s_own_is_left_as_it_is(git: Repo, store: Store) -> None:
    nested = make(git.work / "nested")
    first = store.snapshot("c1")
    nested.run("branch", "precious")
    git.git_dir.rename(git.work / "aside")
    git.git_dir.write_text("gitdir: nested/.git\n")
    was = nested.run("for-each-ref")
    back = store.restore(store.snapshot("c2").commit, first.commit)
    assert "your repository is left as it is: it is another one now" in back.said
    assert nested.run("for-each-ref") == was


def test_it_is_said_when_a_link_stands_where_a_repository_was(git: Repo, store: Store, tmp_path: Path) -> None:
    other = make(tmp_path / "other")
    first = store.snapshot("c1")
    git.git_dir.rename(git.work / "aside")
    git.git_dir.symlink_to(other.git_dir)
    was = other.photograph()
    back = store.restore(store.snapshot("c2").commit, first.commit)
    assert any(line.startswith("your repository cannot be put back") for line in back.said)
    assert other.photograph() == was


@pytest.mark.parametrize("name", ["objects/info/alternates", "config", "HEAD"])
def test_nothing_waits_for_a_fifo_where_git_has_a_file(
    git: Repo, store: Store, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(command, "_TRAP_CHECK", 0.2)
    first = store.snapshot("c1")
    git.run("branch", "work")
    git.commit("README", "changed\n")
    place = git.git_dir / name
    body = place.read_bytes() if place.exists() else b""
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    back = store.restore(store.snapshot("c2").commit, first.commit)
    assert any("your repository is left as it is" in line for line in back.said)
    assert (git.work / "README").read_text() == "a project\n"
    place.unlink()
    if body:
        place.write_bytes(body)
    assert git.run("rev-parse", "--verify", "work")


def test_a_folder_in_the_way_of_a_file_of_git_keeps_no_rollback_from_the_files(git: Repo, store: Store) -> None:
    first = store.snapshot("c1")
    later = git.commit("README", "changed\n")
    (git.git_dir / "index").unlink()
    write(git.git_dir / "index/file", "in the way\n")
    back = store.restore(store.snapshot("c2").commit, first.commit)
    assert any("your repository is left as it is" in line for line in back.said)
    assert (git.work / "README").read_text() == "a project\n"
    shutil.rmtree(git.git_dir / "index")
    assert git.run("rev-parse", "HEAD").strip() == later


def test_a_repository_that_no_safety_checkpoint_could_read_is_left_as_it_is(
    git: Repo, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_TRAP_CHECK", 0.2)
    first = store.snapshot("c1")
    write(git.work / "new", "new\n")
    git.run("branch", "work")
    trap = git.git_dir / "objects/info/alternates"
    os.mkfifo(trap)
    second = store.snapshot("c2")
    trap.unlink()
    back = store.restore(second.commit, first.commit)
    assert "your repository is left as it is: what is there is in no checkpoint" in back.said
    assert git.run("rev-parse", "--verify", "work")


def test_what_was_a_worker_s_once_and_is_the_operator_s_alone_now_is_only_watched(git: Repo, store: Store) -> None:
    first = store.snapshot("c1")
    git.commit("README", "changed\n")
    watching = Store(git.work, git.work.parent / "state" / "checkpoints.git")
    back = watching.restore(watching.snapshot("c2").commit, first.commit)
    assert any("changed since, and is left as it is: branch main" in line for line in back.said)
