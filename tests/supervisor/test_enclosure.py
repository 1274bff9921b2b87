"""What surrounds a launch: what is looked at before it, and what is put right after it."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from proctor.contract.load import load
from proctor.errors import Unrecoverable
from proctor.sandbox.choose import passthrough
from proctor.supervisor import enclosure, policies
from proctor.supervisor.watching import made_repositories

CONTRACT = """\
goal: try
worker: {kind: command, command: [/bin/true]}
state: {commits: none}
sandbox: {kind: KIND}
budget: {iterations: {limit: 3, on_exhaustion: stop}}
progress: {checks: [{run: [/bin/true]}]}
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "place"
    place.mkdir()
    for words in (["init", "-q"], ["config", "core.hooksPath", ".hooks"]):
        subprocess.run(["git", *words], cwd=place, check=True)
    contract(place, "bwrap")
    return place


def contract(place: Path, kind: str) -> None:
    (place / "proctor.yaml").write_text(CONTRACT.replace("KIND", kind))


def enclose(workspace: Path, scratch: Path) -> enclosure.Enclosure:
    terms = load(workspace)
    return enclosure.enclose(policies.base(workspace, terms), terms, scratch / "session.git")


def inside(walls: enclosure.Enclosure, script: str) -> int:
    child = os.fork()  # what runs in the foreground becomes the process's own end
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 99
    try:
        code = passthrough(["sh", "-c", script], walls.policy)
    finally:
        os._exit(code)


def test_what_git_would_obey_is_read_only_and_what_appears_of_it_is_renamed(workspace: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "old"], cwd=workspace, check=True)
    walls = enclose(workspace, tmp_path)
    script = "git init -q new && ! touch old/.git/x 2>/dev/null && mkdir .hooks && echo touch x >.hooks/pre-commit"
    assert inside(walls, script) == 0
    assert enclosure.lift(workspace, walls.before, tmp_path / "session.git") == (
        (".hooks", ".hooks.quarantined"),
        ("new/.git", "new/.git.quarantined"),
    )
    assert not (workspace / "new/.git").exists()
    assert (workspace / "old/.git/HEAD").exists()


def test_what_was_there_before_is_remembered_with_names_of_any_bytes(workspace: Path, tmp_path: Path) -> None:
    odd = os.fsdecode(b"odd\xff\n")
    subprocess.run(["git", "init", "-q", odd], cwd=workspace, check=True)
    walls = enclose(workspace, tmp_path)
    enclosure.remember(walls.before, tmp_path)
    assert enclosure.remembered(tmp_path) == walls.before
    assert enclosure.lift(workspace, enclosure.remembered(tmp_path), tmp_path / "session.git") == ()
    assert (workspace / odd / ".git").exists()


def test_what_the_contract_hides_is_in_no_repository_inside(workspace: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "lib"], cwd=workspace, check=True)
    for place in (workspace / "lib", workspace):
        (place / "key").write_text("kennwort")
        for words in (["add", "key"], ["-c", "user.name=o", "-c", "user.email=o@o", "commit", "-qm", "Key"]):
            subprocess.run(["git", *words], cwd=place, check=True)
    read = "git cat-file --batch-all-objects --batch; git -C lib cat-file --batch-all-objects --batch"
    for hide, found in (("[]", 2), ("[key, lib/key]", 0)):
        (workspace / "proctor.yaml").write_text(
            CONTRACT.replace("KIND", "bwrap").replace("commits: none", f"commits: none, hide: {hide}")
        )
        said: list[str] = []
        terms = load(workspace)
        base = policies.base(workspace, terms)
        walls = enclosure.enclose(base, terms, tmp_path / "session.git", said.append)
        assert inside(walls, f"test $( ({read}) 2>/dev/null | grep -ac kennwort) = {found} && git log") == 0
    assert any("key is in git's index" in line for line in said)
    assert any("lib/.git" in line for line in said)


def test_sockets_in_the_workspace_cannot_be_reached(workspace: Path, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(workspace / "dev.sock"))
        server.listen()
        walls = enclose(workspace, tmp_path)
        dial = "import socket; socket.socket(socket.AF_UNIX).connect('dev.sock')"
        assert inside(walls, f'! python3 -c "{dial}" 2>/dev/null') == 0


def test_a_repository_made_while_a_worker_runs_is_seen(workspace: Path, tmp_path: Path) -> None:
    walls = enclose(workspace, tmp_path)
    assert walls.before is not None
    assert enclosure.new_repositories(workspace, walls.before) == ()
    subprocess.run(["git", "init", "-q", "new"], cwd=workspace, check=True)
    assert enclosure.new_repositories(workspace, walls.before) == ("new/.git",)


@pytest.mark.parametrize("kind", ["weak", "none"])
def test_without_real_walls_the_worker_has_the_users_own_repository(workspace: Path, tmp_path: Path, kind: str) -> None:
    contract(workspace, kind)
    walls = enclose(workspace, tmp_path)
    assert walls.policy.repository is None
    assert enclosure.lift(workspace, walls.before, tmp_path / "session.git") == ()


def test_too_many_repositories_to_protect_are_refused_in_one_line(workspace: Path, tmp_path: Path) -> None:
    for number in range(enclosure.MOST_REPOSITORIES + 1):
        (workspace / f"n{number}" / ".git").mkdir(parents=True)
    with pytest.raises(Unrecoverable, match="201 git repositories, too many") as refusal:
        enclose(workspace, tmp_path)
    assert refusal.value.word == "sandbox"


def test_settings_of_agents_below_any_path_are_refused_in_one_line(workspace: Path, tmp_path: Path) -> None:
    top = os.getcwd()
    os.chdir(workspace)
    try:
        for _ in range(25):
            os.mkdir("d" * 200)
            os.chdir("d" * 200)
        Path(".mcp.json").touch()
    finally:
        os.chdir(top)
    with pytest.raises(Unrecoverable, match="settings of agents with a path too long"):
        enclose(workspace, tmp_path)
    subprocess.run(["rm", "-rf", workspace], check=True)


@pytest.mark.parametrize("number", [1, enclosure.MOST_REPOSITORIES + 1])
def test_fifos_that_cannot_all_be_covered_are_refused_in_one_line(workspace: Path, tmp_path: Path, number: int) -> None:
    top = os.getcwd()
    os.chdir(workspace)
    try:
        if number == 1:
            for _ in range(25):  # below this, no path of the system's can lead to it
                os.mkdir("d" * 200)
                os.chdir("d" * 200)
        for count in range(number):
            os.mkfifo(f"fifo{count}")
    finally:
        os.chdir(top)
    said = "too long" if number == 1 else "201 sockets, FIFOs and devices, too many"
    with pytest.raises(Unrecoverable, match=f"{said}.*: remove them") as refusal:
        enclose(workspace, tmp_path)
    assert refusal.value.word == "sandbox"
    assert len(str(refusal.value)) < 500
    subprocess.run(["rm", "-rf", workspace], check=True)


def test_a_flood_of_repositories_is_told_in_one_line() -> None:
    assert made_repositories(["a/.git"]).count("a/.git: use no git there until it is renamed") == 1
    said = made_repositories([f"r{number}/.git" for number in range(15_000)])
    assert "r0/.git, r1/.git, r2/.git and 14,997 more: use no git there until they are renamed" in said
