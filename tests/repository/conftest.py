from __future__ import annotations

import os
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.repository.layout import find
from proctor.repository.session import environment, prepare
from proctor.sandbox.bwrap import WALLS
from proctor.sandbox.choose import bubblewrap
from proctor.sandbox.policy import Repository

Script = Callable[..., str]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for the operator, so that no other settings count."""
    place = tmp_path / "operator"
    place.mkdir()
    (place / ".gitconfig").write_text(
        "[user]\n\tname = Olga\n\temail = olga@example.org\n[init]\n\tdefaultBranch = main\n"
    )
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return place


def git(where: Path, *words: str, ok: bool = True, **variables: str) -> str:
    """The operator's git, on the host; what it said."""
    done = subprocess.run(
        ["git", *words], cwd=where, capture_output=True, text=True, check=False, env={**os.environ, **variables}
    )
    assert not ok or done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def new_repository(place: Path, *options: str, files: int = 3) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    git(place, "init", "-q", *options)
    for number in range(files):
        path = place / f"part{number % 7}" / f"file{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"line {number}\n")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "First")
    return place


def inside(
    repository: Repository | None,
    workspace: Path,
    script: str,
    protect: tuple[str, ...] = (),
    variables: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a shell script in the workspace, walled in by bubblewrap as a worker is: nothing of the host's git."""
    words = [*WALLS, "--setenv", "PATH", os.defpath, "--setenv", "HOME", "/tmp/home", "--setenv", "LC_ALL", "C"]
    words += ["--setenv", "GIT_CONFIG_NOSYSTEM", "1"]
    for name, value in (variables or {}).items():
        words += ["--setenv", name, value]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run"]
    words += ["--dir", "/tmp/home", "--bind", str(workspace), str(workspace)]
    for name in protect:
        words += ["--ro-bind", str(workspace / name), str(workspace / name)]
    pointer, writing = os.pipe()
    if repository:
        words += ["--bind", str(repository.folder), str(repository.place)]
        for source, target in repository.borrowed:
            words += ["--ro-bind", str(source), str(target)]
        if repository.pointer:
            os.write(writing, f"gitdir: {repository.place}\n".encode())
            words += ["--ro-bind-data", str(pointer), str(repository.pointer)]
    os.close(writing)
    try:
        return subprocess.run(
            [bubblewrap().binary, *words, "--chdir", str(workspace), "--", "sh", "-ec", textwrap.dedent(script)],
            capture_output=True,
            text=True,
            check=False,
            pass_fds=[pointer],
            stdin=subprocess.DEVNULL,
        )
    finally:
        os.close(pointer)


def session(
    workspace: Path, script: str, *, always: bool = False, protect: tuple[str, ...] = (), folder: Path | None = None
) -> str:
    """Prepares the session repository as a start does, and runs a script with it; what it said. It must not fail."""
    state = workspace / ".proctor"
    state.mkdir(exist_ok=True)
    (state / ".gitignore").write_text("*\n")
    layout = find(workspace)
    repository = prepare(layout, folder or state / "session.git", always)
    done = inside(repository, workspace, script, protect, environment(layout))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def bytes_of(git_dir: Path) -> dict[str, bytes]:
    """Every file of a repository, for comparing before and after."""
    found = {}
    for top, _, files in os.walk(git_dir):
        for name in files:
            path = Path(top, name)
            found[str(path.relative_to(git_dir))] = (
                os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
            )
    return found
