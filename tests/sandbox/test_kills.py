"""Starts and kills, many, at every stage and under load: nothing is left of them on the host."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from harness import PATIENCE
from proctor.sandbox import groups, kill
from proctor.sandbox.policy import Policy
from proctor.sandbox.running import PIPE, Backend, Running

from .conftest import wait_for

TREE = "(setsid sh -c 'sleep 1000 & sleep 1000' >/dev/null 2>&1 &); echo; sleep 1000 & wait"


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder in which everything that is left can be seen."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return place


@pytest.fixture
def load() -> Iterator[None]:
    """Four processes that keep the machine busy while the test lasts."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: sum(range(10000))"]) for _ in range(4)]
    yield
    for process in busy:
        process.kill()
        process.wait()


def groups_of(pid: int) -> list[str]:
    found = []
    for top in groups._homes():
        found += [f"{top}/{name}" for name in os.listdir(top) if f"-{pid}-" in name]
    return found


def started_by(pid: int) -> list[int]:
    """What still runs of the sandboxes that this process started."""
    tag = f"proctor-sandbox:{pid}:".encode()
    found = []
    for other in kill.pids():
        try:
            if Path(f"/proc/{other}/cmdline").read_bytes().startswith(tag):
                found.append(other)
        except OSError:
            continue
    return found


def mounts(own: Path) -> int:
    """How many there are, without those that other tests made in folders of theirs."""
    others, lines = str(own.parents[1]), Path("/proc/self/mountinfo").read_text().splitlines()
    return sum(str(own) in line or others not in line for line in lines)


def life(bwrap: Backend, policy: Policy) -> list[int]:
    """One sandbox from its start to its kill; what was inside."""
    with bwrap.launch(["sh", "-c", TREE], policy, stdout=PIPE) as running:
        assert running.stdout is not None
        running.stdout.readline()
        members = [running.init_pid, *running.members()]
        assert len(members) >= 2
        running.kill()
        return members


def many(count: int, bwrap: Backend, policy: Policy, scratch: Path) -> None:
    life(bwrap, policy)
    gc.collect()
    held, mounted = len(os.listdir("/proc/self/fd")), mounts(scratch.parent)
    with ThreadPoolExecutor(4) as pool:
        members = [pid for pids in pool.map(lambda _: life(bwrap, policy), range(count)) for pid in pids]
    assert len(os.listdir("/proc/self/fd")) <= held  # what others left open may be collected meanwhile
    assert mounts(scratch.parent) == mounted
    assert not [pid for pid in members if (entry := kill.entry(pid)) and entry.alive and entry.parent == os.getpid()]
    assert not started_by(os.getpid())
    assert not groups_of(os.getpid())
    assert not os.listdir(scratch)


def test_twenty_starts_and_kills_leave_nothing(bwrap: Backend, policy: Policy, scratch: Path) -> None:
    many(20, bwrap, policy, scratch)


@pytest.mark.kills
@pytest.mark.usefixtures("load")
def test_two_hundred_starts_and_kills_under_load_leave_nothing(bwrap: Backend, policy: Policy, scratch: Path) -> None:
    many(200, bwrap, policy, scratch)


STAGES = {
    "bubblewrap is about to be forked": "running.subprocess.Popen = wait",
    "bubblewrap has not said that its sandbox exists": "running._child_pid = wait",
    "the sandbox is held": "limits.impose = wait",
    "the sandbox is bound": "bwrap.Inside = wait",
    "the command runs": "",
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_supervisor_killed_at_any_stage_of_a_start_leaves_nothing(policy: Policy, scratch: Path, stage: str) -> None:
    program = f"""
import signal
from pathlib import Path
from proctor.sandbox import bwrap, limits, running
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Policy
def wait(*_, **__):
    print("there", flush=True)
    while True: signal.pause()
backend, policy = choose("bwrap"), Policy(Path({str(policy.workspace)!r}))
backend.launch(["true"], policy).close()
{STAGES[stage]}
backend.launch(["sh", "-c", {TREE!r}], policy)
wait()
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"there\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    wait_for(lambda: not started_by(process.pid))
    wait_for(lambda: not groups_of(process.pid))
    assert not os.listdir(scratch)


def test_a_sandbox_goes_with_the_thread_that_started_it_and_has_no_result(bwrap: Backend, policy: Policy) -> None:
    started: list[Running] = []
    thread = threading.Thread(target=lambda: started.append(bwrap.launch(["sleep", "1000"], policy)))
    thread.start()
    thread.join()
    with started[0] as running:
        assert not running.wait(PATIENCE).ran


def test_the_thread_of_an_executor_stays_and_so_does_what_it_started(bwrap: Backend, policy: Policy) -> None:
    """As the supervisor's checks are started."""
    with ThreadPoolExecutor(1) as pool, pool.submit(bwrap.launch, ["sleep", "1000"], policy).result() as running:
        assert pool.submit(threading.get_ident).result() == pool.submit(threading.get_ident).result()
        with pytest.raises(TimeoutError):
            running.wait(0.3)


HOST = """
import os, socket, sys, time
open("/tmp/of-one", "w").write("x")
open("/dev/shm/of-one", "w").write("x")
open(os.environ["HOME"] + "/of-one", "w").write("x")
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0of-one")
listener.listen()
print(flush=True)
time.sleep(1000)
"""
GUEST = """
import os, socket, sys
workspace, door = sys.argv[1:3]
seen = []
places = ("/tmp/of-one", "/dev/shm/of-one", os.environ["HOME"] + "/of-one", workspace, door, "/run/proctor/of-one")
seen += [place for place in places if os.path.exists(place)]
try:
    socket.socket(socket.AF_UNIX).connect("\\0of-one")
    seen.append("its socket")
except OSError:
    pass
for pid in filter(str.isdigit, os.listdir("/proc")):
    if pid != "1" and open(f"/proc/{pid}/cmdline", "rb").read().endswith(b"the-first\\0"):
        seen.append("its process")
print(seen, flush=True)
sys.stdin.read()
"""


def test_two_at_once_see_nothing_of_each_other(bwrap: Backend, policy: Policy, tmp_path: Path) -> None:
    other = tmp_path / "other" / "project"
    doors = [tmp_path / "doors" / name for name in ("one", "two")]
    for folder in (other, *doors):
        folder.mkdir(parents=True)
    (doors[0] / "of-one").touch()
    python = [sys.executable, "-I", "-S", "-c"]
    with bwrap.launch([*python, HOST, "the-first"], replace(policy, door=doors[0]), stdout=PIPE) as one:
        assert one.stdout is not None
        one.stdout.readline()
        its_group = Path(f"/proc/{one.init_pid}/cgroup").read_text()
        argv = [*python, GUEST, str(policy.workspace), str(doors[0])]
        with bwrap.launch(argv, Policy(other, door=doors[1]), stdin=PIPE, stdout=PIPE) as two:
            assert two.stdout is not None
            own_group = Path(f"/proc/{two.init_pid}/cgroup").read_text()
            assert two.stdout.readline() == b"[]\n"
            assert (own_group != its_group) is any("cgroup" in said for said in two.bounds.held)
            assert not {*one.members()} & {*two.members()}
        one.freeze()
        assert one.frozen
        with bwrap.launch(["true"], Policy(other)) as three:
            assert three.wait(PATIENCE).code == 0, "what is frozen holds up nobody"
