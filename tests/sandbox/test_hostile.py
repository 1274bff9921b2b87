"""A workspace that was hostile before the first start: it works, or it is refused in a clear line; nothing hangs.

Whatever it is, the three ways into it (`check`, `sandbox`, `run`) change nothing on the host outside of it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness import Workspace, proctor
from proctor.sandbox.choose import bubblewrap
from proctor.words import ExitCode

CONTRACT = """\
goal: Greet
worker: {kind: command, command: [sh, worker]}
state: {protect: [tests, worker]}
budget: {iterations: {limit: 3, on_exhaustion: park}, wall_clock: {limit: 2m, on_exhaustion: stop}}
progress: {checks: [{run: [sh, tests/holds.sh]}]}
approvals: {allow: ["edit(*)"]}
"""
SECRET = "outside, and nobody's business"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device nodes")

Done = subprocess.CompletedProcess[str]
Spoil = Callable[[Path, Path], None]
"""Makes a workspace hostile; the second folder lies outside of it."""


@pytest.fixture(autouse=True, scope="module")
def ready() -> None:
    """What every copy of this process would have to look for again."""
    bubblewrap()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    place = tmp_path / "outside"
    (place / "folder").mkdir(parents=True)
    (place / "file").write_text(SECRET)
    (place / "folder" / "check.py").write_text(SECRET)
    return place


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    place = tmp_path / "project"
    (place / "tests").mkdir(parents=True)
    (place / "tests" / "holds.sh").write_text("grep -q hello greeting\n")
    (place / "worker").write_text("echo hello >greeting\n")
    (place / "proctor.yaml").write_text(CONTRACT)
    (place / "PLAN.md").write_text("# Plan\n\n- [ ] greet\n")
    made = Workspace(place)
    yield made
    if (place / ".proctor" / "journal.db").is_symlink():
        (place / ".proctor" / "journal.db").unlink()  # nothing could be asked about what is left
    made.settle()
    subprocess.run(["rm", "-rf", str(place)], check=False)  # deeper than Python's own walk goes


def state(folder: Path) -> list[object]:
    """Names, kinds, modes, sizes, times and contents of everything below a folder."""
    found: list[object] = []
    for top, folders, files in os.walk(folder):
        for name in sorted([*folders, *files]):
            path = Path(top, name)
            about = path.lstat()
            text = path.read_bytes() if path.is_file() and not path.is_symlink() and about.st_size < 4096 else b""
            found.append((str(path), about.st_mode, about.st_size, about.st_mtime_ns, about.st_uid, text))
    return found


def enter(work: Workspace) -> Iterator[Done]:
    """The ways into a workspace that start no session."""
    yield proctor("check", str(work.path))
    yield proctor("sandbox", str(work.path), "--", "true")


def run(work: Workspace) -> Done:
    """The way that starts one."""
    return proctor("run", str(work.path), "--headless")


def holds(done: Done) -> None:
    """It worked, or it was refused in lines of ours; and it told nothing of what lies outside."""
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    assert SECRET not in done.stdout + done.stderr
    if done.returncode != ExitCode.DONE:
        assert done.returncode in (ExitCode.USAGE, ExitCode.UNRECOVERABLE, ExitCode.BUDGET), done
        lines = done.stderr.strip().splitlines()
        assert lines
        assert all(line.startswith("proctor: ") for line in lines), done.stderr


def a_git_link(place: Path, outside: Path) -> None:
    (place / ".git").symlink_to(outside / "folder")


def a_dangling_git_link(place: Path, outside: Path) -> None:
    (place / ".git").symlink_to(outside / "nothing")


def a_git_pipe(place: Path, _: Path) -> None:
    os.mkfifo(place / ".git")


def a_git_socket(place: Path, _: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(place)
        server.bind(".git")
        os.chdir(here)


def a_git_file_that_points_out(place: Path, outside: Path) -> None:
    (place / ".git").write_text(f"gitdir: {outside}/folder\n")


def a_git_file_that_points_at_itself(place: Path, _: Path) -> None:
    (place / ".git").write_text("gitdir: .git\n")


def a_git_file_full_of_noise(place: Path, _: Path) -> None:
    (place / ".git").write_bytes(b"gitdir: \0\xff\n" + b"x" * 5_000_000)


def an_empty_git_folder(place: Path, _: Path) -> None:
    (place / ".git").mkdir()


def a_git_folder_that_runs_commands(place: Path, outside: Path) -> None:
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    command = f"touch {outside}/ran; false"
    with (place / ".git/config").open("a") as file:
        file.write(f'[core]\n\tfsmonitor = "{command}"\n\thooksPath = .githooks\n\tsshCommand = "{command}"\n')
        file.write(f'\tpager = "{command}"\n\teditor = "{command}"\n\talternateRefsCommand = "{command}"\n')
        file.write(f'[filter "x"]\n\tclean = "{command}"\n\tsmudge = "{command}"\n\tprocess = "{command}"\n')
        file.write(f'[include]\n\tpath = {place}/included\n[diff]\n\texternal = "{command}"\n')
    (place / "included").write_text(f'[gc]\n\tauto = 1\n[core]\n\taskPass = "{command}"\n')
    (place / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    for folder in (".githooks", ".git/hooks"):
        (place / folder).mkdir(exist_ok=True)
        for name in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"):
            hook = place / folder / name
            hook.write_text(f"#!/bin/sh\n{command}\n")
            hook.chmod(0o755)


def a_git_folder_with_far_objects(place: Path, outside: Path) -> None:
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    (place / ".git/objects/info/alternates").write_text(
        f"{outside}/folder\n../../..\n{place}/.git/objects\n/proc/1/root\n"
    )


def a_git_folder_that_lies_elsewhere(place: Path, outside: Path) -> None:
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    (place / ".git/commondir").write_text(f"{outside}/folder\n")


def a_git_folder_of_links(place: Path, outside: Path) -> None:
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    for name in ("objects", "refs", "hooks"):
        shutil.rmtree(place / ".git" / name)
        (place / ".git" / name).symlink_to(outside / "folder")
    (place / ".git/index").symlink_to(outside / "file")
    (place / ".git/HEAD").unlink()
    (place / ".git/HEAD").symlink_to(outside / "file")


def a_state_link(place: Path, outside: Path) -> None:
    (place / ".proctor").symlink_to(outside / "folder")


def a_state_file(place: Path, _: Path) -> None:
    (place / ".proctor").write_text("mine")


def a_state_pipe(place: Path, _: Path) -> None:
    os.mkfifo(place / ".proctor")


def a_state_folder_of_somebody_else(place: Path, outside: Path) -> None:
    folder = place / ".proctor"
    folder.mkdir(mode=0o777)
    (folder / "journal.db").symlink_to(outside / "file")
    (folder / "supervisor.log").symlink_to(outside / "file")
    (folder / "supervisor.lock").symlink_to(outside / "file")
    (folder / "checkpoints.git").symlink_to(outside / "folder")
    (folder / "doors").symlink_to(outside / "folder")
    (folder / ".gitignore").symlink_to(outside / "file")


def a_state_folder_with_links_below(place: Path, outside: Path) -> None:
    folder = place / ".proctor"
    folder.mkdir(mode=0o700)
    for name in ("doors", "oracle", "kept", "checks"):
        (folder / name).symlink_to(outside / "folder")


def stores_that_are_links(place: Path, outside: Path) -> None:
    folder = place / ".proctor"
    folder.mkdir(mode=0o700)
    for name in ("checkpoints.git", "session.git", "oracle", "kept"):
        (folder / name).symlink_to(outside / "folder")


def a_contract_link(place: Path, outside: Path) -> None:
    (outside / "contract").write_text(CONTRACT)
    (place / "proctor.yaml").unlink()
    (place / "proctor.yaml").symlink_to(outside / "contract")


def a_contract_pipe(place: Path, _: Path) -> None:
    (place / "proctor.yaml").unlink()
    os.mkfifo(place / "proctor.yaml")


def a_contract_folder(place: Path, _: Path) -> None:
    (place / "proctor.yaml").unlink()
    (place / "proctor.yaml").mkdir()


def a_huge_contract(place: Path, _: Path) -> None:
    with (place / "proctor.yaml").open("a") as file:
        file.truncate(1 << 40)


def a_contract_that_unfolds(place: Path, _: Path) -> None:
    levels = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))
    (place / "proctor.yaml").write_text(f"a0: &a0 [x]\n{levels}\n")


def a_plan_link(place: Path, outside: Path) -> None:
    (place / "PLAN.md").unlink()
    (place / "PLAN.md").symlink_to(outside / "file")


def a_plan_pipe(place: Path, _: Path) -> None:
    (place / "PLAN.md").unlink()
    os.mkfifo(place / "PLAN.md")


def a_task_list_link(place: Path, outside: Path) -> None:
    (outside / "tasks").write_text('{"tasks": [{"id": 1, "title": "x"}]}')
    (place / "tasks.json").symlink_to(outside / "tasks")


def protected_links(place: Path, outside: Path) -> None:
    shutil.rmtree(place / "tests")
    (place / "tests").symlink_to(outside / "folder")


def a_protected_link_to_the_old_root(place: Path, outside: Path) -> None:
    shutil.rmtree(place / "tests")
    (place / "tests").symlink_to(f"/oldroot{outside}/folder")


def a_link_on_the_way(place: Path, outside: Path) -> None:
    (place / "deep").symlink_to(outside)
    text = (place / "proctor.yaml").read_text()
    (place / "proctor.yaml").write_text(text.replace("protect: [", "protect: [deep/folder/check.py, "))


def a_protected_pipe(place: Path, _: Path) -> None:
    shutil.rmtree(place / "tests")
    os.mkfifo(place / "tests")


def a_pipe_among_the_protected(place: Path, _: Path) -> None:
    os.mkfifo(place / "tests/pipe")


def a_progress_link(place: Path, outside: Path) -> None:
    for name in ("PROGRESS.md", "RULES.md"):
        (place / name).symlink_to(outside / "file")


def many_repositories(place: Path, count: int) -> None:
    for number in range(count):
        folder = place / "vendor" / f"r{number}" / ".git"
        folder.mkdir(parents=True)
        (folder / "HEAD").write_text("ref: refs/heads/main\n")


def thousands_of_repositories(place: Path, _: Path) -> None:
    many_repositories(place, 2500)


SPOILED: tuple[Spoil, ...] = (
    a_git_link,
    a_dangling_git_link,
    a_git_pipe,
    a_git_socket,
    a_git_file_that_points_out,
    a_git_file_that_points_at_itself,
    a_git_file_full_of_noise,
    an_empty_git_folder,
    a_git_folder_that_runs_commands,
    a_git_folder_with_far_objects,
    a_git_folder_that_lies_elsewhere,
    a_git_folder_of_links,
    a_state_link,
    a_state_file,
    a_state_pipe,
    a_state_folder_of_somebody_else,
    a_state_folder_with_links_below,
    stores_that_are_links,
    a_contract_link,
    a_contract_pipe,
    a_contract_folder,
    a_huge_contract,
    a_contract_that_unfolds,
    a_plan_link,
    a_plan_pipe,
    a_task_list_link,
    protected_links,
    a_protected_link_to_the_old_root,
    a_link_on_the_way,
    a_protected_pipe,
    a_pipe_among_the_protected,
    a_progress_link,
    thousands_of_repositories,
)


@pytest.mark.parametrize("spoil", SPOILED, ids=lambda spoil: spoil.__name__)
def test_it_is_looked_at_and_worked_in_or_refused_in_a_clear_line(work: Workspace, outside: Path, spoil: Spoil) -> None:
    spoil(work.path, outside)
    before = state(outside)
    for done in enter(work):
        holds(done)
    assert state(outside) == before


@pytest.mark.probes
@pytest.mark.parametrize("spoil", SPOILED, ids=lambda spoil: spoil.__name__)
def test_a_session_works_in_it_or_is_refused_in_a_clear_line(work: Workspace, outside: Path, spoil: Spoil) -> None:
    spoil(work.path, outside)
    before = state(outside)
    holds(run(work))
    assert state(outside) == before


def odd_names(place: Path) -> None:
    folder = os.fsencode(place)
    for name in (
        b"-rf",
        b"--",
        b"a\nb",
        b"'\"`$(touch x)",
        b"\xff\xfe",
        b"n" * 255,
        b" ",
        b"\x1b[2J",
        b"tab\there",
        b"*",
    ):
        with open(os.path.join(folder, name), "w") as file:
            file.write("x")
        os.mkdir(os.path.join(folder, name[:250] + b".d"))


def deep_tree(place: Path) -> None:
    here = os.open(place, os.O_RDONLY)
    for _ in range(1000):
        os.mkdir("deep-down", dir_fd=here)
        following = os.open("deep-down", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = following
    os.close(here)


def links_and_nodes(place: Path, outside: Path) -> None:
    os.mkfifo(place / "pipe")
    (place / "loop").symlink_to(place)
    (place / "self").symlink_to("self")
    (place / "out").symlink_to(outside)
    (place / "old").symlink_to(f"/oldroot{outside}")
    os.link(outside / "file", place / "hard")
    (place / "closed").mkdir()
    (place / "closed" / "x").write_text("x")
    (place / "closed").chmod(0)
    with (place / "sparse").open("w") as file:
        file.truncate(1 << 40)


def agents_files(place: Path, outside: Path) -> None:
    for name in (".claude/settings.json", ".mcp.json", ".codex/config.toml", ".gemini/settings.json", "opencode.json"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(f'{{"hooks": {{"SessionStart": "touch {outside}/ran"}}}}')


def test_odd_names_deep_trees_links_pipes_and_what_agents_read_do_not_stand_in_the_way(
    work: Workspace, outside: Path
) -> None:
    odd_names(work.path)
    deep_tree(work.path)
    links_and_nodes(work.path, outside)
    agents_files(work.path, outside)
    before = state(outside)
    for done in (*enter(work), run(work)):
        holds(done)
    assert (work.path / "-rf").exists()
    assert not (work.path / "x").exists()
    wrote = proctor(
        "sandbox", str(work.path), "--", "sh", "-c", "echo mine >hard; cat out/file old/file 2>/dev/null; true"
    )
    assert SECRET not in wrote.stdout
    assert state(outside) == before


def test_many_nested_repositories_are_held(work: Workspace, outside: Path) -> None:
    many_repositories(work.path, 150)
    for done in (*enter(work), run(work)):
        holds(done)
    inside = proctor("sandbox", str(work.path), "--", "sh", "-c", "echo x >>vendor/r149/.git/HEAD")
    assert inside.returncode != 0
    assert "x" not in (work.path / "vendor/r149/.git/HEAD").read_text().split("\n")


def test_a_socket_in_the_workspace_leads_nowhere(work: Workspace) -> None:
    listener = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(work.path)
    try:
        listener.bind("dev.sock")
    finally:
        os.chdir(here)
    listener.listen()
    listener.setblocking(False)
    script = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('dev.sock')"
    done = proctor("sandbox", str(work.path), "--", "python3", "-c", script)
    with pytest.raises(BlockingIOError):
        listener.accept()
    listener.close()
    assert done.returncode != 0


@needs_root
def test_a_device_in_the_workspace_cannot_be_opened(work: Workspace) -> None:
    os.mknod(work.path / "zero", 0o20666, os.makedev(1, 5))
    for done in (*enter(work), run(work)):
        holds(done)
    assert proctor("sandbox", str(work.path), "--", "head", "-c1", "zero").returncode != 0
