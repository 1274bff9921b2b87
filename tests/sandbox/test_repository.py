"""A private repository in the place of the workspace's own: where it stands, what it borrows, what cannot be turned."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.errors import Unrecoverable, UsageError
from proctor.sandbox import host
from proctor.sandbox.policy import Policy, Repository
from proctor.sandbox.running import Backend

from .conftest import Shell, tree

QUIET = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}
INSIDE = {f"GIT_{who}_{what}": "worker" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

Made = Callable[..., Repository]


def git(*words: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        ["git", *words], cwd=cwd, env={**os.environ, **QUIET, **INSIDE}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one commit."""
    place = tmp_path / "outside" / "checkout"
    place.mkdir(parents=True)
    (place / "app.py").write_text("first\n")
    git("init", "-q", "-b", "main", cwd=place)
    git("add", "app.py", cwd=place)
    git("commit", "-q", "-m", "first", cwd=place)
    return place


@pytest.fixture
def session(tmp_path: Path, project: Path) -> Made:
    """A repository that borrows the project's objects, which name another folder that is not there inside."""

    def make(place: Path, pointer: Path | None = None, workspace: Path | None = None) -> Repository:
        folder, objects = tmp_path / "session.git", project / ".git" / "objects"
        git("init", "-q", "--bare", "-b", "main", folder, cwd=tmp_path)
        (folder / "objects/info/alternates").write_text("/run/objects/0\n")
        (objects / "info/alternates").write_text(f"{tmp_path}/nowhere\n")
        (folder / "refs/heads/main").write_text((project / ".git/refs/heads/main").read_text())
        git("config", "core.bare", "false", cwd=folder)
        if workspace:
            git("config", "core.worktree", workspace, cwd=folder)
        return Repository(folder, place, pointer, ((objects, Path("/run/objects/0")),))

    return make


WORK = """
    git reset -q && git status --short && echo more >> app.py && git add app.py && git commit -q -m second &&
    git log --format=%s && git branch
"""


def at_work(shell: Shell, policy: Policy, repository: Repository) -> str:
    before = tree(policy.workspace)
    code, said = shell(WORK, workspace=policy.workspace, protect=(), hide=(), repository=repository, environment=INSIDE)
    assert code == 0, said
    after = tree(policy.workspace)
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert changed == {str(policy.workspace / "app.py")}
    return said


def test_it_stands_over_a_folder(shell: Shell, project: Path, session: Made) -> None:
    said = at_work(shell, Policy(project), session(project / ".git"))
    assert said == "second\nfirst\n* main\n"
    assert git("log", "--format=%s", cwd=project) == "first"


def test_a_file_names_it_where_the_workspace_s_own_is_a_file(
    shell: Shell, project: Path, session: Made, tmp_path: Path
) -> None:
    other = tmp_path / "outside" / "other"
    git("worktree", "add", "-q", "-b", "side", other, cwd=project)
    pointer = other / ".git"
    own = pointer.read_text()
    said = at_work(shell, Policy(other), session(Path("/run/session.git"), pointer))
    assert said == "second\nfirst\n* main\n"
    assert pointer.read_text() == own


def test_a_file_above_the_workspace_names_it(shell: Shell, project: Path, session: Made, tmp_path: Path) -> None:
    below = tmp_path / "outside" / "below"
    below.mkdir()
    (below / "app.py").write_text("first\n")
    repository = session(Path("/run/session.git"), below.parent / ".git", below)
    said = at_work(shell, Policy(below), repository)
    assert said == "second\nfirst\n* main\n"
    assert not (below.parent / ".git").exists()


@pytest.mark.parametrize("where", ["home", "tmp"])
def test_the_file_above_holds_where_the_folder_is_scratch(
    shell: Shell, session: Made, home: Path, tmp_path: Path, where: str
) -> None:
    below = (home if where == "home" else Path("/tmp")) / f"below-{os.getpid()}"
    below.mkdir()
    try:
        repository = session(Path("/run/session.git"), below.parent / ".git", below)
        code, said = shell(
            "git rev-parse --git-dir; rm -f ../.git; mv ../.git ../x; echo > ../.git; git rev-parse --git-dir",
            workspace=below,
            repository=repository,
        )
        assert code == 0, said
        assert said.count("/run/session.git\n") == 2
    finally:
        below.rmdir()
    assert not (below.parent / ".git").exists()


def test_a_read_only_folder_above_is_refused_in_words(
    bwrap: Backend, session: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "SYSTEM", (*host.SYSTEM, str(tmp_path / "vendor")))
    monkeypatch.setattr(host, "SHARED", {*host.SHARED, tmp_path / "vendor"})
    below = tmp_path / "vendor" / "project"
    below.mkdir(parents=True)
    repository = session(Path("/run/session.git"), below.parent / ".git", below)
    with pytest.raises(Unrecoverable, match="is a read-only folder of the host") as refusal:
        bwrap.launch(["true"], Policy(below, repository=repository))
    assert refusal.value.word == "sandbox"
    assert not (below.parent / ".git").exists()


def test_the_operator_s_own_is_out_of_reach(shell: Shell, project: Path, session: Made) -> None:
    (project / ".git/config").write_text("[user]\n\tname = SECRET\n")
    before = tree(project / ".git")
    _, said = shell(
        """
        cat .git/config
        for path in .git /run/objects/0 /run/objects/0/info; do
            mv $path moved; rm -rf $path/pack; ln -s /etc $path/link
        done 2>/dev/null
        touch /run/objects/0/x .git/hooks/mine; ls .git/hooks
        """,
        workspace=project,
        repository=session(project / ".git"),
        protect=(),
        hide=(),
    )
    assert "SECRET" not in said
    assert "mine" in said
    assert {name: text for name, text in tree(project / ".git").items() if "alternates" not in name} == {
        name: text for name, text in before.items() if "alternates" not in name
    }


def test_modules_are_borrowed_at_a_mount_point_that_a_worker_may_have_turned(
    shell: Shell, bwrap: Backend, project: Path, session: Made, tmp_path: Path
) -> None:
    modules = project / ".git" / "modules"
    (modules / "lib").mkdir(parents=True)
    outside = tmp_path / "reached"
    outside.mkdir()
    repository = session(project / ".git")
    repository = replace(repository, borrowed=(*repository.borrowed, (modules, project / ".git/modules")))
    _, said = shell(
        "ls .git/modules; touch .git/modules/x; mv .git/modules y || rmdir .git/modules || echo held",
        workspace=project,
        repository=repository,
        protect=(),
        hide=(),
    )
    assert said.startswith("lib\n")
    assert said.endswith("held\n")
    place = repository.folder / "modules"
    place.rmdir()
    for target in (outside, f"/oldroot{outside}", "/etc"):
        place.symlink_to(target)
        with pytest.raises(Unrecoverable, match="symbolic link"):
            bwrap.launch(["true"], Policy(project, repository=repository))
        place.unlink()
    assert not os.listdir(outside)


@pytest.mark.parametrize("broken", ["absent", "file", "link", "session is a link"])
def test_a_place_that_is_not_what_it_has_to_be_is_refused(
    bwrap: Backend, project: Path, session: Made, tmp_path: Path, broken: str
) -> None:
    repository = session(project / ".git")
    own, kept = project / ".git", project.parent / "kept"
    if broken == "session is a link":
        (tmp_path / "link").symlink_to(repository.folder)
        repository = replace(repository, folder=tmp_path / "link")
    else:
        own.rename(kept)
        repository = replace(repository, borrowed=())
    if broken == "file":
        own.write_text("gitdir: x")
    elif broken == "link":
        own.symlink_to(kept)
    before = tree(project)
    with pytest.raises((Unrecoverable, UsageError)):
        bwrap.launch(["true"], Policy(project, repository=repository))
    assert tree(project) == before
