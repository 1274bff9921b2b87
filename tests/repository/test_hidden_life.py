"""When the worker's repository stands apart from the operator's for what is hidden, and how long."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from proctor.repository import hidden
from proctor.repository import session as module
from proctor.repository.layout import find
from proctor.repository.session import prepare
from proctor.repository.source import read
from repository.conftest import git, new_repository, session
from repository.spying import HIDE, SECRET, committed, ways, written


def test_what_is_staged_and_changed_shows_as_it_does_outside(top: Path) -> None:
    committed(top)
    (top / "staged.txt").write_text("x\n")
    (top / "secrets" / "deep" / "y").write_text("changed\n")
    git(top, "add", "-A")
    (top / "part0" / "file0.txt").write_text("changed\n")
    (top / "part1" / "file1.txt").unlink()
    (top / "new").touch()
    shown = git(top, "status", "--porcelain").splitlines()
    said = session(top, "git status --porcelain; git diff --cached -- staged.txt | tail -1; git diff part0", hide=HIDE)
    lines = said.splitlines()
    assert lines[:4] == [line for line in shown if "secrets" not in line and ".proctor" not in line]
    assert {"+x", "+changed"} <= set(lines)
    assert git(top, "ls-files", "secrets") == "secrets/deep/y\nsecrets/x\n"


def prepared(place: Path, hide: tuple[str, ...], said: list[str] | None = None) -> bool:
    """Whether the session's repository borrows, as one that is made or kept now."""
    (place / ".proctor").mkdir(exist_ok=True)
    say = (lambda line: None) if said is None else said.append
    repository = prepare(find(place), place / ".proctor" / "session.git", say=say, hide=hide)
    assert repository is not None
    return any(target.is_relative_to(module.OBJECTS) for _, target in repository.borrowed)


def test_where_git_never_had_what_is_hidden_the_history_is_there(top: Path) -> None:
    written(top)
    said: list[str] = []
    assert prepared(top, HIDE, said)
    assert said == []
    script = "git log --format=%s; git status --porcelain; git add -A; git commit -q --allow-empty -m x; git ls-files"
    assert session(top, script, hide=HIDE).splitlines() == [
        "Top", "First", ".gitignore", "file0.txt", "part0/file0.txt", "part1/file1.txt", "part2/file2.txt",
    ]  # fmt: skip
    assert ways(top, HIDE) == set()
    assert session(top, "git log -1 --format=%s", hide=HIDE) == "x\n"


def test_a_file_with_the_content_of_a_visible_one_or_none_takes_no_history_away(top: Path) -> None:
    (top / "secrets").mkdir()
    (top / "secrets" / "copy").write_text("top\n")
    (top / "secrets" / "empty").touch()
    (top / "secrets" / "link").symlink_to("copy")
    os.mkfifo(top / "secrets" / "pipe")
    assert prepared(top, ("secrets",))


def test_it_is_said_once_and_kept_with_the_worker_s_commits(top: Path) -> None:
    committed(top)
    said: list[str] = []
    assert not prepared(top, HIDE, said)
    (line,) = said
    assert line.startswith("secrets/deep/y is in git's index: ")
    assert "git rm --cached" in line
    session(top, "git commit -q --allow-empty -m Worker", hide=HIDE)
    git(top, "gc", "-q")
    git(top, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(top, "update-ref", "refs/heads/proctor/s1", "HEAD")
    said.clear()
    assert not prepared(top, HIDE[::-1], said)
    assert said == []
    assert session(top, "git log --format=%s", hide=HIDE) == "Worker\nSecrets\n"


def test_another_list_of_hidden_paths_makes_a_new_one(top: Path) -> None:
    written(top)
    assert prepared(top, ())
    session(top, "git add -A; git commit -qm Worker")
    said: list[str] = []
    assert prepared(top, HIDE, said)
    (line,) = said
    assert "what is hidden" in line
    assert ways(top, HIDE) == set()
    committed(top)
    assert not prepared(top, HIDE)
    assert not prepared(top, ("secrets",))
    git(top, "rm", "-rq", "secrets", "top.key")
    git(top, "commit", "-qm", "None")
    assert prepared(top, ())


def test_what_comes_into_the_history_later_is_found_among_the_new_commits(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []
    ask = hidden._Search._ask

    def listened(self: hidden._Search, words: list[str], fed: bytes = b"", **changes: str) -> bytes | None:
        asked.append(fed)
        return ask(self, words, fed, **changes)

    monkeypatch.setattr(hidden._Search, "_ask", listened)
    assert prepared(top, HIDE)
    assert prepared(top, HIDE)
    head = git(top, "rev-parse", "HEAD").strip()
    assert asked == [b"", f"^{head}\n".encode()]
    git(top, "checkout", "-qb", "other")
    git(committed(top), "checkout", "-q", "main")
    assert not prepared(top, HIDE)
    git(top, "branch", "-qD", "other")
    shutil.rmtree(top / ".git" / "logs")
    git(top, "gc", "-q", "--prune=now")
    shutil.rmtree(top / ".proctor")
    assert prepared(top, HIDE)


def test_it_is_said_which_path_is_where(top: Path) -> None:
    def where() -> str:
        layout = find(top)
        return hidden.held(layout, read(layout), ("secrets", "top.key"))

    written(top)
    assert where() == ""
    git(top, "add", "secrets/x")
    assert where() == "secrets/x is in git's index"
    git(top, "rm", "-q", "--cached", "secrets/x")
    assert "what secrets/x holds is in git, object " in where()
    git(top, "checkout", "-qb", "other")
    git(top, "add", "secrets/x")
    git(top, "commit", "-qm", "Oops")
    commit = git(top, "rev-parse", "HEAD").strip()
    git(top, "checkout", "-q", "main")
    assert where() == f"secrets/x is in git's history, in commit {commit[:12]}, which other leads to"
    git(top, "branch", "-qD", "other")
    assert f"in commit {commit[:12]}, which only the stash or a reflog leads to" in where()
    git(top, "reflog", "expire", "--expire=now", "--all")
    git(top, "worktree", "add", "-q", "--detach", "../linked")
    (top.parent / "linked" / "top.key").touch()
    git(top.parent / "linked", "add", "top.key")
    assert where().startswith(f"top.key is in {top}/.git/worktrees/linked/index")


@pytest.mark.parametrize("body", ["exec tail -f /dev/null", "exit 1"], ids=["too long", "fails"])
def test_what_is_not_known_counts_as_there(
    top: Path, monkeypatch: pytest.MonkeyPatch, body: str, tmp_path: Path
) -> None:
    layout = find(top)
    facts = read(layout)
    assert hidden.held(layout, facts, ("secrets",)) == ""
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    monkeypatch.setattr(hidden, "git_program", lambda: str(program))
    monkeypatch.setattr(hidden, "SECONDS", 0.1)
    assert "git could not search" in hidden.held(layout, facts, ("secrets",))


@pytest.mark.parametrize("hide", [("secrets",), ("sec[r]ets", "a b", "#x", "!y")])
def test_a_path_is_taken_as_it_is_written(top: Path, hide: tuple[str, ...]) -> None:
    for path in hide:
        (top / path).mkdir()
        (top / path / "x").write_text(f"{SECRET}\n")
    assert prepared(top, hide)
    assert session(top, "git status --porcelain", hide=hide) == ""
    git(top, "add", "-A")
    git(top, "commit", "-qm", "All")
    assert ways(top, hide) == set()
    assert prepared(top, ("sec*", "[a]", "secret"))


def submodules(top: Path, *names: str) -> Path:
    host = new_repository(top.parent / "host")
    for name in names:
        git(host, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(top), name)
    (host / ".gitignore").write_text("READ.py\n")
    git(host, "add", "-A")
    git(host, "commit", "-qm", "Subs")
    return host


@pytest.mark.parametrize("kind", ["folder", "worktree"])
def test_the_repository_of_a_hidden_submodule_is_not_there(top: Path, kind: str) -> None:
    host = submodules(committed(top), "private/sub", "lib")
    if kind == "worktree":
        git(host, "worktree", "add", "-q", "../tree")
        host = top.parent / "tree"
        git(host, "-c", "protocol.file.allow=always", "submodule", "update", "--init", "-q")
    hide = ("private", "lib/secrets", "lib/top.key", "lib/.git")
    assert {"objects", "files"} <= ways(host, (), "lib", protect=("lib/.git", "private/sub/.git"))
    assert ways(host, hide, "lib") == set()
    assert session(host, "git status --porcelain; git log --format=%s", hide=hide) == "Subs\n"


def test_a_submodule_without_anything_hidden_answers_as_before(top: Path) -> None:
    host = submodules(top, "private/sub", "lib")
    script = "git -C lib log -1 --format=%s; git status --porcelain; ls .git/modules/private/sub"
    assert session(host, script, hide=("private",), protect=("lib/.git",)) == "Top\n"


def test_a_nested_repository_that_tells_of_hidden_files_is_named(top: Path) -> None:
    for name in ("tells", "clean", "hidden/one", "broken"):
        new_repository(top / name)
        written(top / name)
    git(top / "tells", "add", "-A")
    shutil.rmtree(top / "broken" / ".git" / "refs")
    names = [f"{name}/.git" for name in ("tells", "clean", "hidden/one", "broken")]
    hide = [f"{name}/secrets" for name in ("tells", "clean", "broken")]
    assert list(hidden.telling(top, names, [*hide, "hidden"], top)) == ["tells/.git", "broken/.git"]
    assert list(hidden.telling(top, names, ["clean/.git", "secrets"], top)) == []
