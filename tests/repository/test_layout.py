from __future__ import annotations

import os
from pathlib import Path

import pytest

from proctor.errors import UsageError
from proctor.repository.layout import Kind, Layout, find
from repository.conftest import git, new_repository


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "work")


def test_a_folder_at_the_top(top: Path) -> None:
    assert find(top) == Layout(Kind.FOLDER, top, top / ".git", top / ".git")


def test_below_the_top_and_through_a_link_to_it(top: Path) -> None:
    deep = top / "part0" / "deeper"
    deep.mkdir()
    (top.parent / "link").symlink_to(deep)
    for place in (deep, top.parent / "link"):
        assert find(place) == Layout(Kind.ABOVE, deep, top / ".git", top / ".git", "part0/deeper")
    assert find(deep).top == top


def test_a_linked_worktree_shares_what_is_common(top: Path) -> None:
    git(top, "worktree", "add", "-q", "../tree")
    tree = top.parent / "tree"
    assert find(tree) == Layout(Kind.FILE, tree, top / ".git" / "worktrees" / "tree", top / ".git")
    assert find(tree / "part0").prefix == "part0"


def test_a_submodule_is_its_own(top: Path) -> None:
    other = new_repository(top.parent / "other")
    git(top, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    modules = top / ".git" / "modules" / "sub"
    assert find(top / "sub") == Layout(Kind.FILE, top / "sub", modules, modules)


def test_none_and_the_parent_s_variables_are_not_obeyed(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    monkeypatch.setenv("GIT_DIR", str(top / ".git"))
    assert find(plain) == Layout(Kind.NONE, plain)


def test_a_folder_of_the_name_that_is_no_repository_is_passed_over_as_git_does(top: Path) -> None:
    (top / "part0" / ".git").mkdir()
    assert find(top / "part0").kind is Kind.ABOVE
    alone = top.parent / "alone"
    (alone / ".git").mkdir(parents=True)
    found = find(alone)
    assert found.kind is Kind.NONE
    assert found.reason == f"{alone / '.git'} is no git repository"


@pytest.mark.parametrize(
    ("setting", "words"),
    [("core.bare=true", "is a bare git repository"), ("core.worktree=/elsewhere", "are elsewhere: /elsewhere")],
)
def test_a_repository_without_files_here_is_not_used_and_the_reason_is_said(
    top: Path, setting: str, words: str
) -> None:
    git(top, "config", *setting.split("="))
    assert find(top).kind is Kind.NONE
    assert words in find(top).reason


def test_a_worktree_of_a_bare_repository_is_used(top: Path) -> None:
    git(top.parent, "clone", "-q", "--bare", "work", "store")
    git(top.parent / "store", "worktree", "add", "-q", "../tree", "main")
    assert find(top.parent / "tree").kind is Kind.FILE
    assert "bare" in find(top.parent / "store").reason
    assert "bare" in find(top.parent / "store" / "refs").reason


def test_settings_of_one_worktree_count_for_it(top: Path) -> None:
    git(top, "config", "extensions.worktreeConfig", "true")
    git(top, "config", "--worktree", "core.bare", "true")
    assert find(top).kind is Kind.NONE


def test_a_link_is_refused_in_one_line_with_what_to_do(top: Path) -> None:
    os.rename(top / ".git", top.parent / "store")
    (top / ".git").symlink_to("../store")
    with pytest.raises(UsageError) as refused:
        find(top)
    assert str(refused.value).count("\n") == 0
    assert f"gitdir: {top.parent / 'store'}" in str(refused.value)
    assert find(top / "part0").kind is Kind.ABOVE  # nothing has to stand in for it there


@pytest.mark.parametrize("text", ["gitdir: /nowhere\n", "nonsense", ""])
def test_a_file_that_leads_nowhere_is_refused_as_git_refuses_it(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)
    with pytest.raises(UsageError, match="remove it"):
        find(tmp_path)
    (tmp_path / ".git").unlink()
    os.mkfifo(tmp_path / ".git")
    with pytest.raises(UsageError, match="neither"):
        find(tmp_path)


def test_nothing_of_the_repository_is_run(top: Path) -> None:
    fired = top.parent / "fired"
    (top / ".git" / "hooks" / "post-checkout").write_text(f"#!/bin/sh\ntouch {fired}\n")
    git(top, "config", "core.fsmonitor", f"touch {fired}")
    git(top, "config", "alias.rev-parse", f"!touch {fired}")
    git(top, "config", "include.path", "/dev/stdin")
    assert find(top).kind is Kind.FOLDER
    assert not fired.exists()
