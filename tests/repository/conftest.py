from __future__ import annotations

import os
import subprocess
import textwrap
from pathlib import Path

import pytest

from proctor.repository.layout import find
from proctor.repository.session import environment, prepare
from proctor.sandbox.choose import bubblewrap
from proctor.sandbox.policy import Policy, Repository
from proctor.sandbox.run import run


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


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository of two commits, with files at its top and below."""
    place = new_repository(tmp_path / "work")
    (place / "file0.txt").write_text("top\n")
    (place / ".gitignore").write_text("READ.py\n")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "Top")
    return place


def inside(
    repository: Repository | None,
    workspace: Path,
    script: str,
    protect: tuple[str, ...] = (),
    hide: tuple[str, ...] = (),
) -> str:
    """Runs a shell script in the workspace, walled in as a worker is; what it said. It must not fail."""
    variables = {"LC_ALL": "C", **environment(find(workspace))}
    policy = Policy(workspace, protect=protect, hide=hide, repository=repository, environment=variables)
    said = workspace.parent / f"{workspace.name}.said"
    done = run(bubblewrap(), ["sh", "-ec", textwrap.dedent(script)], policy, 60, said, 1 << 20)
    text = said.read_text(errors="replace")
    assert done.exit.code == 0, text
    return text


def session(
    workspace: Path,
    script: str,
    *,
    always: bool = False,
    protect: tuple[str, ...] = (),
    hide: tuple[str, ...] = (),
    folder: Path | None = None,
) -> str:
    """Prepares the session repository as a start does, and runs a script with it; what it said. It must not fail."""
    state = workspace / ".proctor"
    state.mkdir(exist_ok=True)
    (state / ".gitignore").write_text("*\n")
    repository = prepare(find(workspace), folder or state / "session.git", always, hide=hide)
    return inside(repository, workspace, script, protect, hide)


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
