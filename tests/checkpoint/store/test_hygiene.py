"""Nothing that a user, a parent process or the tree itself configured has any effect, and none of it is run."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint.photo import git, photograph, write
from proctor.checkpoint.repository import Store


def round_trip(store: Store, work: Path) -> None:
    before, was = store.snapshot("c1"), photograph(work)
    write(work / "src/main.py", b"changed\r\n")
    write(work / "more.txt", b"$Id$\r\n")
    after, then = store.snapshot("c2"), photograph(work)
    store.restore(after.commit, before.commit)
    assert photograph(work) == was
    store.restore(store.snapshot("c3").commit, after.commit)
    assert photograph(work) == then


def test_git_variables_of_the_parent_have_no_effect(
    store: Store, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    git(tmp_path, "init", "-q", str(elsewhere))
    ran = tmp_path / "ran"
    for name, value in {
        "GIT_DIR": f"{elsewhere}/.git",
        "GIT_WORK_TREE": str(elsewhere),
        "GIT_INDEX_FILE": f"{elsewhere}/index",
        "GIT_OBJECT_DIRECTORY": f"{elsewhere}/objects",
        "GIT_COMMON_DIR": f"{elsewhere}/.git",
        "GIT_NAMESPACE": "other",
        "GIT_QUARANTINE_PATH": str(elsewhere),
        "GIT_EXTERNAL_DIFF": f"touch {ran}",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": f"touch {ran}",
        "GIT_CONFIG_PARAMETERS": "'core.bare'='false'",
        "GIT_TRACE": str(ran),
        "GIT_PROXY_COMMAND": f"touch {ran}",
    }.items():
        monkeypatch.setenv(name, value)
    round_trip(store, work)
    changed = store.diff(*(store.names()[name] for name in ("c1", "c2")))
    assert [change.path for change in changed] == ["more.txt", "src/main.py"]
    assert store.patch(*(store.names()[name] for name in ("c1", "c2"))).startswith(b"diff --git")
    assert not ran.exists()
    assert not (elsewhere / "index").exists()


def test_the_users_configuration_runs_nothing_and_converts_nothing(store: Store, work: Path, home: Path) -> None:
    ran = home / "ran"
    hooks = home / "hooks"
    for hook in ("post-index-change", "reference-transaction", "post-checkout", "pre-commit", "fsmonitor-watchman"):
        write(hooks / hook, f"#!/bin/sh\necho {hook} >> {ran}\nexit 1\n", 0o755)
    write(home / "attributes", "* text eol=crlf filter=lossy ident\n")
    write(
        home / ".gitconfig",
        f"""
[core]
    hooksPath = {hooks}
    fsmonitor = touch {ran}
    autocrlf = true
    attributesFile = {home}/attributes
    symlinks = false
    fileMode = false
    ignoreCase = true
    checkStat = minimal
    trustctime = false
    sparseCheckout = true
[commit]
    gpgSign = true
[filter "lossy"]
    clean = "touch {ran}; tr -d x"
    smudge = "touch {ran}; cat"
    required = true
[filter "lfs"]
    clean = false
    smudge = false
    process = false
    required = true
""",
    )
    write(home / ".config/git/attributes", "* filter=lossy\n")
    write(work / ".gitattributes", "* text=auto eol=crlf filter=lfs ident working-tree-encoding=UTF-16\n")
    write(work / "xx.txt", b"xxx\r\n$Id$\n")
    round_trip(store, work)
    assert not ran.exists()


def test_hooks_and_filters_that_a_worker_leaves_in_nested_repositories_are_not_run(
    store: Store, work: Path, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    inner = work / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    git(inner, "config", "core.fsmonitor", f"touch {ran}")
    git(inner, "config", "filter.evil.clean", f"touch {ran}; cat")
    git(inner, "config", "filter.evil.smudge", f"touch {ran}; cat")
    write(inner / ".gitattributes", "* filter=evil\n")
    write(inner / "file", "1\n")
    write(inner / ".git/hooks/post-index-change", f"#!/bin/sh\ntouch {ran}\n", 0o755)
    write(work / ".gitmodules", '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n\tupdate = !touch ran\n')
    round_trip(store, work)
    assert not ran.exists()


def test_the_users_repository_is_the_same_to_the_byte(store: Store, work: Path) -> None:
    git(work, "init", "-q")
    git(work, "add", ".")
    git(work, "commit", "-qm", "one")
    write(work / "staged", "staged\n")
    git(work, "add", "staged")
    write(work / "staged", "and changed\n")
    git(work, "update-index", "--assume-unchanged", "README")
    before = photograph(work / ".git")
    stats = {path: path.stat().st_mtime_ns for path in (work / ".git").rglob("*")}
    write(work / "README", "an edit behind a flag\n")
    taken = store.snapshot("c0")
    assert store.read(taken.commit, "README") == b"an edit behind a flag\n"
    round_trip(store, work)
    store.diff(taken.commit, store.names()["c2"])
    store.list_ignored()
    store.gc({taken.commit})
    assert photograph(work / ".git") == before
    assert {path: path.stat().st_mtime_ns for path in (work / ".git").rglob("*")} == stats


def test_ignore_rules_come_from_the_tree_the_users_exclude_file_and_his_own_list(
    store: Store, work: Path, home: Path
) -> None:
    git(work, "init", "-q")
    write(work / ".git/info/exclude", "local/\n")
    write(home / "mine", "scratch/\n")
    write(home / ".gitconfig", f"[core]\n\texcludesFile = {home}/mine\n")
    write(work / ".gitignore", "build/\n")
    for folder in ("local", "scratch", "build", "src/build"):
        write(work / folder / "file", "1")
    taken = store.snapshot("c1")
    assert store.list_ignored() == ("build", "local", "scratch", "src/build")
    assert not [entry.path for entry in store.entries(taken.commit) if entry.path.endswith("/file")]


def test_what_the_users_git_tracks_is_kept_even_in_an_ignored_folder(store: Store, work: Path) -> None:
    git(work, "init", "-q")
    write(work / ".gitignore", "lib/\n*.gen\n")
    for name in ("lib/tracked.py", "lib/not.py", "a.gen"):
        write(work / name, "1\n")
    git(work, "add", "-f", "lib/tracked.py", "a.gen")
    before = store.snapshot("c1")
    kept = {entry.path for entry in store.entries(before.commit)}
    assert {"lib/tracked.py", "a.gen"} <= kept
    assert "lib/not.py" not in kept
    write(work / "lib/tracked.py", "2\n")
    write(work / "a.gen", "2\n")
    after = store.snapshot("c2")
    assert [change.path for change in store.diff(before.commit, after.commit)] == ["a.gen", "lib/tracked.py"]
    store.restore(after.commit, before.commit)
    assert (work / "lib/tracked.py").read_text() == "1\n"
    assert (work / "lib/not.py").read_text() == "1\n"


def test_a_linked_worktree_has_the_rules_of_its_repository(
    work: Path, tmp_path: Path, store_of: Callable[[Path], Store]
) -> None:
    git(work, "init", "-q")
    git(work, "add", ".")
    git(work, "commit", "-qm", "one")
    write(work / ".git/info/exclude", "local/\n")
    linked = tmp_path / "linked"
    git(work, "worktree", "add", "-q", str(linked))
    write(linked / "local/file", "1")
    store = store_of(linked)
    assert store.list_ignored() == ("local",)
    before = photograph(work / ".git")
    round_trip(store, linked)
    assert photograph(work / ".git") == before


def test_the_store_is_for_its_owner_only(store: Store, work: Path) -> None:
    store.snapshot("c1")
    assert stat.S_IMODE((work / ".proctor/checkpoints.git").stat().st_mode) == 0o700


def test_the_commands_take_nothing_from_the_environment_but_what_they_need(
    store: Store, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, str]] = []
    start = subprocess.Popen.__init__

    def watch(self: object, *args: object, **kwargs: object) -> None:
        if os.path.basename(args[0][0] if isinstance(args[0], list) else "") == "git" and "diff-files" in args[0]:
            seen.append(kwargs["env"])
        start(self, *args, **kwargs)

    monkeypatch.setenv("SECRET_TOKEN", "1")
    monkeypatch.setattr(subprocess.Popen, "__init__", watch)
    store.snapshot("c1")
    assert seen
    allowed = ("PATH", "TMPDIR", "HOME", "LC_ALL")
    assert all(name in allowed or name.startswith("GIT_") for env in seen for name in env)


def test_a_git_that_a_worker_planted_on_path_is_not_run(tmp_path: Path) -> None:
    work, planted = tmp_path / "workspace", tmp_path / "workspace" / ".venv" / "bin"
    planted.mkdir(parents=True)
    (work / "proctor.yaml").touch()
    for name in ("git", "sh", "true"):
        (planted / name).write_text(f'#!/bin/sh\ntouch {tmp_path}/ran\nPATH=/usr/bin:/bin exec {name} "$@"\n')
        (planted / name).chmod(0o755)
    program = f"""
import os
from pathlib import Path
from proctor.checkpoint.repository import Store
from proctor.contract.ground import git_state
from proctor.sandbox.choose import bubblewrap
os.chdir({str(work)!r})
store = Store(Path("."), Path({str(tmp_path / "store")!r}), ())
one = store.snapshot("c1")
store.held(one.commit)
git_state(Path({str(work)!r}))
bubblewrap()
"""
    path = f"{planted}:{os.environ['PATH']}"
    subprocess.run([sys.executable, "-c", program], env={**os.environ, "PATH": path}, check=True)
    assert not (tmp_path / "ran").exists()
