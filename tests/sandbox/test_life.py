from __future__ import annotations

import gc
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from harness import PATIENCE
from proctor.sandbox import kill
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Policy
from proctor.sandbox.running import PIPE, Backend, Running
from proctor.trees import sweep

from .conftest import Shell, wait_for

COUNT = "i=0; while :; do i=$((i+1)); echo $i > counter; done"
DAEMON = f"(setsid sh -c '(setsid sh -c \"{COUNT.replace('$', chr(92) + '$')}\") & sleep 1000' >/dev/null 2>&1 &)"
"""A process that left its session twice over, counting in the workspace."""

STORM = """
import os, subprocess, sys, threading, time
def vforks():
    while True: subprocess.run(["/bin/true"])
def forks():
    while True:
        pid = os.fork()
        if pid == 0: os._exit(0)
        os.waitpid(pid, 0)
for work in (vforks, vforks, forks):
    if os.fork() == 0:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        work()
print("storm", flush=True)
i = 0
while True:
    i += 1
    open("counter", "w").write(str(i))
"""

ZOMBIE_LEADER = """
import ctypes, threading
def work():
    i = 0
    while True:
        i += 1
        open("counter", "w").write(str(i))
threading.Thread(target=work).start()
print("ready", flush=True)
ctypes.CDLL(None).syscall(60 if __import__("os").uname().machine == "x86_64" else 93, 0)
"""


def start(backend: Backend, policy: Policy, *argv: str) -> Running:
    return backend.launch(argv, policy, stdout=PIPE, stderr=subprocess.STDOUT)


def line(running: Running) -> bytes:
    assert running.stdout is not None
    return running.stdout.readline()


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if (entry := kill.entry(pid)) and entry.alive]


def counter(policy: Policy) -> str:
    try:
        return (policy.workspace / "counter").read_text()
    except FileNotFoundError:
        return ""


def stands_still(policy: Policy) -> bool:
    before = counter(policy)
    time.sleep(0.05)
    return counter(policy) == before


@pytest.mark.parametrize(
    ("script", "code", "number"),
    [("true", 0, None), ("exit 3", 3, None), ("kill -TERM $$", 143, signal.SIGTERM), ("exit 255", 255, None)],
)
def test_the_exit_code_arrives(backend: Backend, policy: Policy, script: str, code: int, number: int | None) -> None:
    with start(backend, policy, "sh", "-c", script) as running:
        result = running.wait(PATIENCE)
        assert (result.code, result.signal, result.ran) == (code, number, True)
        assert running.poll() == running.kill() == result


def test_a_command_that_does_not_exist_has_no_result(backend: Backend, policy: Policy) -> None:
    with start(backend, policy, "/no/such/program") as running:
        result = running.wait(PATIENCE)
        assert (result.code, result.ran) == (None, False)
        assert b"No such file" in line(running)


def test_a_killed_command_has_no_result(backend: Backend, policy: Policy) -> None:
    with start(backend, policy, "sleep", "1000") as running:
        assert running.poll() is None
        with pytest.raises(TimeoutError):
            running.wait(0)
        result = running.kill()
        assert (result.code, result.signal, result.ran) == (None, signal.SIGKILL, False)
        assert running.poll() == result


def test_the_end_is_announced_on_a_descriptor(backend: Backend, policy: Policy) -> None:
    with start(backend, policy, "sh", "-c", "read line") as running:
        assert select.select([running], [], [], 20)[0] == [running]
        result = running.poll()
        assert result
        assert result.ran


def test_nothing_a_command_started_is_alive_after_it_was_killed(backend: Backend, policy: Policy) -> None:
    with start(
        backend, policy, "sh", "-c", f"{DAEMON}; while ! [ -s counter ]; do :; done; echo; sleep 1000"
    ) as running:
        line(running)
        members = running.members()
        assert len(members) >= 3
        running.kill()
        assert not alive(members)
        assert not running.members()
        assert stands_still(policy)


def test_nothing_is_alive_after_a_normal_end(backend: Backend, policy: Policy) -> None:
    with start(backend, policy, "sh", "-c", f"{DAEMON}; while ! [ -s counter ]; do :; done") as running:
        assert running.wait(PATIENCE).code == 0
        assert stands_still(policy)


@pytest.mark.parametrize("times", [1, pytest.param(3, marks=pytest.mark.probes)])
@pytest.mark.parametrize("program", [STORM, ZOMBIE_LEADER], ids=["storm of forks", "process without its first thread"])
def test_nothing_moves_while_frozen_and_all_goes_on_after(
    backend: Backend, policy: Policy, program: str, times: int
) -> None:
    with start(backend, policy, sys.executable, "-I", "-S", "-c", program) as running:
        line(running)
        for _ in range(times):
            wait_for(lambda: not stands_still(policy))
            running.freeze()
            assert running.frozen
            seconds = running.cpu_seconds()
            members = set(running.members())
            assert stands_still(policy)
            assert running.cpu_seconds() == seconds > 0
            assert set(running.members()) == members
            running.thaw()
            assert not running.frozen
        wait_for(lambda: not stands_still(policy))


def test_what_had_stopped_itself_stays_stopped(backend: Backend, policy: Policy) -> None:
    script = f"sh -c 'kill -STOP $$; touch woken' & sh -c '{COUNT}' & echo; wait"
    with start(backend, policy, "sh", "-c", script) as running:
        line(running)
        wait_for(lambda: any((e := kill.entry(pid)) and e.state == "T" for pid in running.members()))
        running.freeze()
        running.thaw()
        wait_for(lambda: not stands_still(policy))
        assert not (policy.workspace / "woken").exists()


def test_a_frozen_command_can_be_killed(backend: Backend, policy: Policy) -> None:
    with start(backend, policy, "sh", "-c", f"{DAEMON}; while ! [ -s counter ]; do :; done; echo; {COUNT}") as running:
        line(running)
        running.freeze()
        members = running.members()
        running.kill()
        assert not running.frozen
        assert not alive(members)
        running.freeze()
        assert not running.frozen


def test_killing_takes_all_that_left_their_session_too(backend: Backend, policy: Policy) -> None:
    script = "for i in 1 2 3 4 5 6 7 8 9; do setsid sleep 1000 & done; echo; wait"
    with start(backend, policy, "sh", "-c", script) as running:
        line(running)
        members = running.members()
        running.kill()
        assert len(members) >= 10
        assert not alive(members)


def test_cpu_time_counts_processes_that_are_gone(backend: Backend, policy: Policy) -> None:
    spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
    told = "while ! [ -e go ]; do sleep 0.01; done"
    script = f"{told}; (setsid sh -c '{spin}' &); sh -c '{spin}'; echo; sleep 1000"
    with start(backend, policy, "sh", "-c", script) as running:
        before = running.cpu_seconds()
        (policy.workspace / "go").touch()
        line(running)
        wait_for(lambda: running.cpu_seconds() > before + 0.1)
        last = running.cpu_seconds()
        running.kill()
        assert running.cpu_seconds() == last


def test_descriptors_are_given_back(backend: Backend, policy: Policy) -> None:
    for one in (backend, choose("bwrap")):
        start(one, policy, "true").close()  # the first of each keeps what all of them share
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        start(backend, policy, "true").close()
        with pytest.raises(Exception, match="not a path inside"):
            start(choose("bwrap"), Policy(policy.workspace, protect=("..",)), "true")
    assert len(os.listdir("/proc/self/fd")) <= before  # what others left open may be collected meanwhile


@pytest.mark.parametrize("kind", ["bwrap", "weak", "none"])
def test_everything_dies_with_the_supervisor(
    policy: Policy, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = f"""
import sys
from pathlib import Path
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Policy
running = choose({kind!r}).launch(["sh", "-c", {DAEMON + "; sleep 1000"!r}], Policy(Path({str(policy.workspace)!r})))
print(running.init_pid, flush=True)
sys.stdin.read()
"""
    scratch = tmp_path / "temporary"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    process = subprocess.Popen([sys.executable, "-c", supervisor], stdin=PIPE, stdout=PIPE, text=True)
    assert process.stdout is not None
    init = int(process.stdout.readline())
    wait_for(lambda: counter(policy))
    members = [init, *kill.descendants(init)]
    assert len(members) >= 3
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    sweep(0)
    left = [path.suffix for path in scratch.iterdir()]
    assert left == ([".scratch"] if kind == "weak" else []), "what is in use is held against every sweep"
    process.kill()
    process.communicate()
    wait_for(lambda: not alive(members))
    wait_for(lambda: not os.listdir(scratch))
    assert stands_still(policy)


def test_a_supervisor_killed_while_it_starts_a_sandbox_leaves_nothing(policy: Policy) -> None:
    supervisor = f"""
from pathlib import Path
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Policy
backend, policy = choose("bwrap"), Policy(Path({str(policy.workspace)!r}))
print(flush=True)
while True: backend.launch(["sh", "-c", {COUNT!r}], policy)
"""
    tags = []
    for number in range(12):
        process = subprocess.Popen([sys.executable, "-c", supervisor], stdout=PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        tags.append(f"proctor-sandbox:{process.pid}:".encode())
        time.sleep(number * 0.001)
        process.kill()
        process.communicate()
    time.sleep(0.2)  # what had just been started may not be visible before
    wait_for(lambda: not any(map(_tagged, tags)))
    assert stands_still(policy)


def _tagged(tag: bytes) -> list[int]:
    found = []
    for pid in kill.pids():
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if command.startswith(tag):
            found.append(pid)
    return found


def test_many_starts_and_ends_at_once_leave_nothing(bwrap: Backend, policy: Policy) -> None:
    for _ in range(3):
        running = [start(bwrap, policy, "sh", "-c", f"{DAEMON}; {COUNT}") for _ in range(6)]
        members = [pid for one in running for pid in one.members()]
        for one in running:
            one.close()
        assert not alive(members)
        assert stands_still(policy)


TAKE_OVER = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for ask in (16, 0x4206):  # PTRACE_ATTACH, PTRACE_SEIZE
    print(libc.ptrace(ask, 1, 0, 0))
for name in ("mem", "syscall", "root", "task/1/mem", "fd"):
    print(os.path.lexists(f"/proc/1/{name}"), os.path.lexists(f"/proc/self/root/proc/1/{name}"))
os.kill(1, 9)
print(os.path.exists("/proc/self"))
"""


def test_the_process_that_ends_a_sandbox_cannot_be_taken_over(shell: Shell) -> None:
    code, said = shell(f"{sys.executable} -c '{TAKE_OVER}'")
    assert code == 0
    assert said.split() == ["-1"] * 2 + ["False"] * 10 + ["True"]


def test_what_is_written_right_after_it_goes_on_was_not_written_while_it_stood(bwrap: Backend, policy: Policy) -> None:
    command = ["sh", "-c", ": > ready; while read number; do : > answered$number; done"]
    running = bwrap.launch(command, policy, stdin=PIPE)
    assert running.stdin is not None
    wait_for((policy.workspace / "ready").exists)
    try:
        for number in range(1, 21):
            running.freeze()
            running.stdin.write(b"%d\n" % number)
            running.stdin.flush()
            running.thaw()
            answered = policy.workspace / f"answered{number}"
            wait_for(answered.exists)
            assert not running.stood_at(answered.stat().st_ctime_ns)
    finally:
        running.kill()
        running.close()
