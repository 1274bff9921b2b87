from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from harness import PATIENCE
from proctor.sandbox import cgroup, groups, kill
from proctor.sandbox.policy import MIB, Limits, Policy
from proctor.sandbox.running import PIPE, Backend, Exit

from .conftest import wait_for

ROOT = os.geteuid() == 0
LIMITS = Limits(memory=256 * MIB, processes=40, file_size=2 * MIB, open_files=64, scratch=8 * MIB)

FORKS = """
import os, signal
count = 0
while True:
    try:
        pid = os.fork()
    except BlockingIOError:
        break
    if pid == 0:
        signal.pause()
    count += 1
print(count, flush=True)
os._exit(0)
"""
HOGS = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        held = bytearray(b"x") * (60 << 20)
        print("held", flush=True)
        time.sleep(1000)
os.wait()
time.sleep(1000)
"""


def ended(backend: Backend, policy: Policy, program: str, limits: Limits = LIMITS) -> tuple[Exit, str]:
    """Runs a Python program to its end under these limits; its exit and what it said."""
    argv = [sys.executable, "-I", "-S", "-c", textwrap.dedent(program)]
    with backend.launch(argv, replace(policy, limits=limits), stdout=PIPE, stderr=subprocess.STDOUT) as running:
        assert running.stdout is not None
        said = running.stdout.read().decode()
        return running.wait(PATIENCE), said


def test_what_binds_is_said(backend: Backend, policy: Policy) -> None:
    with backend.launch(["true"], policy) as running:
        assert running.bounds.held or running.bounds.lacking
        unbound = " ".join(running.bounds.lacking)
        assert ("memory" in unbound) is bool(running.bounds.why)
        if unbound and (ROOT or backend.name != "bwrap"):
            assert "number of processes" in unbound


def test_a_fork_bomb_ends_at_the_limit(bwrap: Backend, policy: Policy) -> None:
    with bwrap.launch(["true"], policy) as probe:
        if any("number of processes" in one for one in probe.bounds.lacking):
            pytest.skip("nothing binds the number of processes here, which is said on the screen")
    exit_, said = ended(bwrap, policy, FORKS)
    assert exit_.code == 0
    assert LIMITS.processes - 3 <= int(said) < LIMITS.processes


def test_memory_is_bound_for_the_whole_tree_where_a_group_can_be_had(bwrap: Backend, policy: Policy) -> None:
    argv = [sys.executable, "-I", "-S", "-c", HOGS]
    with bwrap.launch(argv, replace(policy, limits=LIMITS), stdout=PIPE) as running:
        if running.bounds.lacking:
            assert "memory of all processes together" in running.bounds.lacking[0]
            return
        wait_for(running.bounds.exceeded)
        assert running.bounds.exceeded() == "all its processes together used more than 256M of memory (limits.memory)"
        running.kill()
        assert running.bounds.exceeded(), "also known after the end"


def test_memory_is_bound_for_one_process(backend: Backend, policy: Policy) -> None:
    exit_, said = ended(backend, policy, "held = bytearray(300 << 20)")
    assert exit_.code == 1
    assert "MemoryError" in said


def test_a_file_has_a_greatest_size_and_who_goes_beyond_is_told_so(backend: Backend, policy: Policy) -> None:
    program = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL); open('big', 'wb').write(bytes(3 << 20))"
    with backend.launch([sys.executable, "-c", program], replace(policy, limits=LIMITS)) as running:
        result = running.wait(PATIENCE)
        assert result.signal == signal.SIGXFSZ
        assert running.bounds.exceeded(result.signal) == "a file grew beyond 2M (limits.file_size)"
    assert (policy.workspace / "big").stat().st_size <= 2 * MIB


def test_open_files_are_bound(backend: Backend, policy: Policy) -> None:
    program = """
        import os
        try:
            while True: last = os.open("/dev/null", 0)
        except OSError as error:
            print(last, error.strerror)
    """
    assert ended(backend, policy, program)[1] == "63 Too many open files\n"


def test_no_core_is_written(backend: Backend, policy: Policy) -> None:
    program = "import os, resource; print(resource.getrlimit(resource.RLIMIT_CORE), flush=True); os.abort()"
    exit_, said = ended(backend, policy, program)
    assert exit_.signal == signal.SIGABRT
    assert said.startswith("(1, 1)"), "0 would still hand the core to a program of the host"
    assert not list(policy.workspace.glob("*core*"))


def test_a_full_scratch_folder_is_a_full_disk_and_nothing_of_the_host_s(bwrap: Backend, policy: Policy) -> None:
    program = """
        import errno
        for place in ("/tmp", "/var/tmp", "/dev/shm", __import__("os").environ["HOME"]):
            count = 0
            try:
                for part in range(20):
                    with open(f"{place}/part{part}", "wb", buffering=0) as file:
                        count += file.write(bytes(1 << 20))
            except OSError as error:
                print(errno.errorcode[error.errno], count <= 8 << 20)
    """
    assert ended(bwrap, policy, program)[1] == "ENOSPC True\n" * 4


def ours() -> list[str]:
    found = []
    for top in groups._homes():
        found += [f"{top}/{name}" for name in os.listdir(top) if f"-{os.getpid()}-" in name]
    return found


def test_no_group_is_left(backend: Backend, policy: Policy) -> None:
    with backend.launch(["true"], policy) as running:
        running.wait(PATIENCE)
        assert not ours()
    running = backend.launch(["sleep", "1000"], policy)
    assert bool(ours()) is (running.bounds.held != () and "cgroup" in running.bounds.held[0])
    running.close()
    assert not ours()


def test_a_group_is_given_back_when_a_start_fails(
    bwrap: Backend, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    bwrap.launch(["true"], policy).close()

    def no_listener(*_: object) -> None:
        raise OSError("no listener")

    monkeypatch.setattr("proctor.sandbox.guarded.listen", no_listener)
    with pytest.raises(Exception, match="refused"):
        bwrap.launch(["true"], replace(policy, listen=True))
    assert not ours()


def test_what_a_dead_maker_left_is_ended_and_removed(tmp_path: Path) -> None:
    try:
        group = groups.make(groups.below_own_in_version_1())
    except OSError:
        pytest.skip("no group may be made here")
    kept = groups.make(groups.below_own_in_version_1())
    with subprocess.Popen(["sleep", "1000"]) as process:
        group.join(process.pid)
        left = os.path.basename(group.folders[0])
        groups.sweep(lambda pid, started: True)
        assert process.poll() is None
        me = groups.NAME.fullmatch(left)
        assert me
        assert (int(me[2]), kill.lives(int(me[2]), int(me[3]))) == (os.getpid(), True)
        stale = [folder.replace(f"-{me[3]}-", f"-{int(me[3]) - 1}-") for folder in group.folders]
        for folder in stale:
            os.mkdir(folder)
            Path(folder, "cgroup.procs").write_text(str(process.pid))
        assert group.remove()
        groups.sweep(kill.lives)
        assert process.wait(PATIENCE) == -signal.SIGKILL
        wait_for(lambda: not any(map(os.path.exists, stale)))
    assert all(map(os.path.exists, kept.folders))
    assert kept.remove()


def test_version_2_is_used_as_the_kernel_wants_it(tmp_path: Path) -> None:
    names = ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cgroup.procs")
    for name in names:
        (tmp_path / name).touch()
    group = groups.Group(2, (str(tmp_path),))
    group.limit(1 << 20, 9)
    group.join(77)
    assert [(tmp_path / name).read_text() for name in names] == ["1048576", "0", "1", "9", "77"]
    (tmp_path / "memory.events").write_text("low 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n")
    assert group.ooms() == 2


def test_a_group_with_limits_below_is_found_by_what_it_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "slice" / "session"
    own.mkdir(parents=True)
    monkeypatch.setattr(groups, "version_2", lambda pid="self": str(own))
    with pytest.raises(OSError):
        groups.below_own()
    with pytest.raises(OSError):
        groups.beside_own()
    (own.parent / "cgroup.subtree_control").write_text("cpu memory pids\n")
    assert groups.beside_own() == groups.Home(2, (str(own.parent),))
    (own / "cgroup.subtree_control").write_text("memory pids\n")
    assert groups.below_own() == groups.Home(2, (str(own),))


def test_bounds_that_a_manager_does_not_hold_are_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int, int, int]] = []

    def scope(name: str, pid: int, memory: int, processes: int) -> None:
        asked.append((name, pid, memory, processes))
        (tmp_path / name).mkdir()
        for file, value in files.items():
            (tmp_path / name / file).write_text(f"{value}\n")

    monkeypatch.setattr("proctor.sandbox.manager.start_scope", scope)
    monkeypatch.setattr(groups, "version_2", lambda pid: str(tmp_path / asked[-1][0]))
    way = dict(cgroup.WAYS)["a scope of systemd"]
    files: dict[str, object] = {"memory.max": 1 << 20, "pids.max": 9}
    bound = way("a scope of systemd", 77, (1 << 20) + 5, 9)
    assert asked[-1][1:] == (77, 1 << 20, 9)
    assert bound.kind == "a scope of systemd"
    for given, word in (({"pids.max": 9}, "no memory controller"), ({"memory.max": "max", "pids.max": 9}, "is max")):
        files = given
        with pytest.raises(OSError, match=word):
            way("a scope of systemd", 77, 1 << 20, 9)


def test_threads_that_start_at_once_stay_out_of_each_other_s_groups(bwrap: Backend, policy: Policy) -> None:
    bwrap.launch(["true"], policy).close()
    with ThreadPoolExecutor(4) as pool:

        def start(_: int) -> tuple[str, ...]:
            with bwrap.launch(["cat", "/proc/self/cgroup"], policy, stdout=PIPE) as running:
                assert running.stdout is not None
                said = running.stdout.read().decode()
                running.wait(PATIENCE)
                return tuple(line for line in said.splitlines() if line.count("proctor-") > 1)

        assert not any(pool.map(start, range(40)))
    assert not ours()
