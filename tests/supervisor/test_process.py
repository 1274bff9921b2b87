"""Locks, identities of processes, and workspaces that cannot carry a session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.errors import ProctorError, UsageError
from proctor.supervisor import process
from proctor.trees import file_system


def test_a_second_holder_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from proctor.supervisor.process import Lock\n"
        "lock = Lock(Path(sys.argv[1])).acquire(); print('held', flush=True); sys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdin is not None
    assert child.stdout.readline() == "held\n"
    with pytest.raises(UsageError, match=f"pid {child.pid}"):
        process.Lock(tmp_path).acquire()
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()
    with process.Lock(tmp_path) as lock:
        holder = lock.holder()
        assert holder is not None
        assert holder.pid == os.getpid()


def test_a_reused_pid_is_not_taken_for_the_process_that_had_it() -> None:
    me, started = os.getpid(), process.start_time(os.getpid())
    assert started is not None
    assert process.alive(me, process.boot_id(), started)
    assert not process.alive(me, process.boot_id(), started + 1)
    assert not process.alive(me, "another boot", started)


def test_a_dead_process_that_nobody_reaped_is_not_alive() -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process.start_time(child.pid) is None
    child.wait()


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_workspace_that_is_no_folder_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ProctorError, match="not a folder") as caught:
        process.check_workspace(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "file_system", lambda _: "nfs4")
    with pytest.raises(UsageError, match="network file system"):
        process.check_workspace(tmp_path)


def test_the_file_system_of_a_path_is_that_of_the_longest_mount_point(tmp_path: Path) -> None:
    assert file_system(Path("/proc/self")) == "proc"
    assert file_system(tmp_path) not in process.NETWORK_FILE_SYSTEMS


def test_the_weak_sandboxs_state_is_found_outside_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    workspace = tmp_path / "w"
    inside, outside = process.state_dir_of(workspace, outside=False), process.state_dir_of(workspace, outside=True)
    assert inside == workspace / ".proctor"
    assert outside.is_relative_to(tmp_path / "state")
    assert process.state_dir_of(workspace) == inside
    outside.mkdir(parents=True)
    (outside / "journal.db").touch()
    assert process.state_dir_of(workspace) == outside


def test_a_process_that_keeps_to_itself_leaves_no_core_and_lets_nobody_look_in(tmp_path: Path) -> None:
    script = """
import ctypes, os, resource, sys
from proctor.supervisor import process
most = resource.getrlimit(resource.RLIMIT_CORE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (most, most))
if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)
process.keep_to_itself()
parent = os.getpid()
child = os.fork()
if child == 0:
    for name in ("environ", "mem", "maps", "fd/0"):
        try:
            open(f"/proc/{parent}/{name}").close()
            print(name)
        except PermissionError:
            pass
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
os.abort()
"""
    environment = {**os.environ, "THE_KEY": "secret"}
    child = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
    _, status = os.waitpid(child.pid, 0)
    child.returncode = status
    assert child.stdout
    assert child.stdout.read() == b""
    child.stdout.close()
    assert os.WTERMSIG(status) == signal.SIGABRT
    assert not os.WCOREDUMP(status)
    assert not list(tmp_path.iterdir())
