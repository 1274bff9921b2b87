"""What a contract hides is not to be read from git's objects either, however it came into them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.repository import hidden
from proctor.repository import session as module
from proctor.repository.layout import find
from proctor.repository.session import prepare
from proctor.repository.source import read
from repository.conftest import bytes_of, git, new_repository, session

SECRET = "kennwort-7f3a"
HIDE = ("secrets/", "top.key")

READ = r"""
import os, subprocess, sys, zlib

secret, ways = sys.argv[1].encode(), set()

def look(way, data):
    if secret in data:
        ways.add(way)

def git(*words, where="."):
    done = subprocess.run(["git", "-C", where, *words], capture_output=True)
    return done.stdout

def inflated(data):
    start = data.find(b"x")
    while start >= 0:
        try:
            yield zlib.decompressobj().decompress(data[start:], 1 << 20)
        except zlib.error:
            pass
        start = data.find(b"x", start + 1)

for place in (".", *sys.argv[2:]):
    look("log", git("log", "-p", "--all", "--reflog", where=place))
    look("objects", git("cat-file", "--batch-all-objects", "--batch", where=place))
    look("show", git("show", "HEAD:./secrets/x", where=place) + git("show", ":./secrets/x", where=place))
    look("grep", git("grep", "--cached", secret.decode(), where=place))
    look("stash", git("stash", "list", "-p", where=place))
for root in (".", "/run"):
    for top, folders, files in os.walk(root):
        for name in files:
            try:
                data = open(os.path.join(top, name), "rb").read()
            except OSError:
                continue
            look("files", data)
            for piece in inflated(data) if ".git" in top or root == "/run" else ():
                look("bytes", piece)
print(*sorted(ways))
"""

USE = """
    test -z "$(git status --porcelain)" || { git status; exit 1; }
    before=$(git rev-list --count HEAD)
    echo more >> file0.txt; echo new > new.txt; git add -A; git commit -qm Second
    test $(git rev-list --count HEAD) = $((before + 1)); test -z "$(git ls-files secrets top.key)"
    git diff HEAD~1 --stat | grep -q new.txt; git checkout -qb side; git gc -q; git fsck --no-dangling
    test -z "$(git status --porcelain)"; test -z "$(git for-each-ref refs/tags refs/remotes refs/stash)"
    git log --format=%an:%s
"""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    place = new_repository(tmp_path / "work")
    (place / "file0.txt").write_text("top\n")
    (place / ".gitignore").write_text("READ.py\n")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "Top")
    return place


def ways(place: Path, hide: tuple[str, ...], *repositories: str, protect: tuple[str, ...] = ()) -> set[str]:
    """In which ways the secret can be read inside."""
    (place / "READ.py").write_text(READ)
    script = f"{sys.executable} -I READ.py {SECRET} {' '.join(repositories)}"
    try:
        return set(session(place, script, hide=hide, protect=protect).split())
    finally:
        (place / "READ.py").unlink()


def written(place: Path) -> None:
    (place / "secrets").mkdir(exist_ok=True)
    (place / "secrets" / "x").write_text(f"{SECRET}\n")
    (place / "secrets" / "deep").mkdir(exist_ok=True)
    (place / "secrets" / "deep" / "y").write_text("y\n")
    (place / "top.key").write_text(f"{SECRET} too\n")


def committed(place: Path) -> Path:
    written(place)
    git(place, "add", "-A")
    git(place, "commit", "-qm", "Secrets")
    return place


def packed(top: Path) -> Path:
    git(committed(top), "gc", "-q", "--prune=now")
    return top


def in_old_history(top: Path) -> Path:
    git(committed(top), "rm", "-rq", "secrets", "top.key")
    git(top, "commit", "-qm", "No secrets")
    return top


def on_another_branch(top: Path) -> Path:
    git(top, "checkout", "-qb", "other")
    git(committed(top), "checkout", "-q", "main")
    return top


def merged_without_a_trace(top: Path) -> Path:
    """A branch that brought it and took it away, merged and deleted, of which no reflog tells."""
    in_old_history(on_another_branch_begun(top))
    git(top, "checkout", "-q", "main")
    git(top, "merge", "-q", "--no-ff", "-m", "Merge", "other")
    git(top, "branch", "-qD", "other")
    shutil.rmtree(top / ".git" / "logs")
    return top


def on_another_branch_begun(top: Path) -> Path:
    git(top, "checkout", "-qb", "other")
    return top


def staged(top: Path) -> Path:
    written(top)
    git(top, "add", "-A")
    return top


def staged_once(top: Path) -> Path:
    git(staged(top), "reset", "-q")
    return top


def stashed(top: Path) -> Path:
    written(top)
    git(top, "stash", "-uq")
    return top


def reset(top: Path) -> Path:
    git(committed(top), "reset", "-q", "--hard", "HEAD~1")
    return top


def tagged(top: Path) -> Path:
    git(committed(top), "tag", "-am", "Old", "old")
    git(top, "reset", "-q", "--hard", "HEAD~1")
    shutil.rmtree(top / ".git" / "logs")
    return top


def in_another_worktree(top: Path) -> Path:
    git(top, "worktree", "add", "-q", "../tree")
    staged(top.parent / "tree")
    return top


def in_a_worktree(top: Path) -> Path:
    git(top, "worktree", "add", "-q", "../tree")
    return committed(top.parent / "tree")


def in_a_submodule(top: Path) -> Path:
    host = new_repository(top.parent / "host")
    git(host, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(top), "sub")
    return committed(host / "sub")


def borrowing(top: Path) -> Path:
    """A clone that has nothing of it, and reads the objects of one that does."""
    git(top.parent, "clone", "-q", "--shared", "work", "second")
    committed(top)
    return top.parent / "second"


def borrowing_what_is_staged(top: Path) -> Path:
    git(top.parent, "clone", "-q", "--shared", "work", "second")
    staged(top)
    return top.parent / "second"


def staged_above_as_another_file(top: Path) -> Path:
    place = below_alone(top)
    written(place)
    shutil.copy(place / "secrets" / "x", top / "copy")
    git(top, "add", "copy")
    return place


def below_alone(top: Path) -> Path:
    place = top / "projects" / "one"
    place.mkdir(parents=True)
    (place / "file0.txt").write_text("one\n")
    (place / ".gitignore").write_text("READ.py\n")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "One")
    return place


def below(top: Path) -> Path:
    return committed(below_alone(top))


def below_in_old_history(top: Path) -> Path:
    place = below(top)
    git(place, "rm", "-rq", "secrets", "top.key")
    git(place, "commit", "-qm", "No secrets")
    return place


def detached(top: Path) -> Path:
    git(committed(top), "checkout", "-q", "--detach")
    return top


def sha256(top: Path) -> Path:
    place = new_repository(top.parent / "other", "--object-format=sha256")
    (place / "file0.txt").write_text("top\n")
    (place / ".gitignore").write_text("READ.py\n")
    return committed(place)


def sparse(top: Path) -> Path:
    git(committed(top), "sparse-checkout", "set", "--cone", "--sparse-index", "part1", "secrets")
    assert not (top / "part0").exists()
    return top


def shallow(top: Path) -> Path:
    git(top.parent, "clone", "-q", "--depth", "1", f"file://{committed(top)}", "clone")
    return top.parent / "clone"


def unborn(top: Path) -> Path:
    place = top.parent / "fresh"
    place.mkdir()
    git(place, "init", "-q")
    (place / "file0.txt").write_text("x\n")
    return staged(place)


SHAPES: list[Callable[[Path], Path]] = [
    committed, packed, in_old_history, on_another_branch, merged_without_a_trace, staged, staged_once,
    stashed, reset, tagged, in_another_worktree, in_a_worktree, in_a_submodule, borrowing,
    borrowing_what_is_staged, staged_above_as_another_file, below, below_in_old_history, detached, sha256,
    sparse, shallow, unborn,
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_hidden_file_is_read_in_no_way_and_without_hiding_in_some(top: Path, shape: Callable[[Path], Path]) -> None:
    place = shape(top)
    layout = find(place)
    assert layout.common is not None
    before = bytes_of(layout.common)
    assert {"objects", "bytes"} <= ways(place, ())
    assert ways(place, HIDE) == set()
    assert bytes_of(layout.common) == before


@pytest.mark.parametrize("shape", SHAPES[:-1], ids=lambda shape: shape.__name__)
def test_a_worker_uses_git_as_usual_on_one_commit(top: Path, shape: Callable[[Path], Path]) -> None:
    place = shape(top)
    words = git(place, "log", "-1", "--format=%an:%s")
    assert session(place, USE, hide=HIDE) == f"Olga:Second\n{words}"


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
    assert "hidden files are in the git history" in line
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
    on_another_branch(top)
    assert not prepared(top, HIDE)
    git(top, "branch", "-qD", "other")
    shutil.rmtree(top / ".git" / "logs")
    git(top, "gc", "-q", "--prune=now")
    shutil.rmtree(top / ".proctor")
    assert prepared(top, HIDE)


@pytest.mark.parametrize("body", ["exec tail -f /dev/null", "exit 1"], ids=["too long", "fails"])
def test_what_is_not_known_counts_as_there(
    top: Path, monkeypatch: pytest.MonkeyPatch, body: str, tmp_path: Path
) -> None:
    layout = find(top)
    facts = read(layout)
    assert not hidden.held(layout, facts, ("secrets",))
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    monkeypatch.setattr(hidden, "git_program", lambda: str(program))
    monkeypatch.setattr(hidden, "SECONDS", 0.1)
    assert hidden.held(layout, facts, ("secrets",))


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


def test_a_clone_without_blobs_fetches_nothing(top: Path) -> None:
    in_old_history(top)
    git(top, "config", "uploadpack.allowFilter", "true")
    git(top.parent, "clone", "-q", "--filter=blob:none", f"file://{top}", "part")
    place = top.parent / "part"
    before = bytes_of(place / ".git")
    assert session(place, USE, hide=HIDE) == "Olga:Second\nOlga:No secrets\n"
    assert bytes_of(place / ".git") == before


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
