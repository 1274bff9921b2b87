"""Rows about lifetimes, and about what a sandbox leaves in the workspace: these need more than one command inside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from probes.bench import Bench, Result
from probes.boxes import Box
from probes.fixture import Config, put

DAEMON = r"""
import os, signal, sys, time
workspace, stay, tag = sys.argv[1], float(sys.argv[2]), sys.argv[3]
beat = f"{workspace}/beat-{tag}"
for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2):
            os.close(fd)
        end = time.time() + 9
        while time.time() < end:
            with open(beat, "w") as file:
                file.write(str(time.time()))
            time.sleep(0.05)
    os._exit(0)
os.wait()
while not os.path.exists(beat):
    time.sleep(0.01)
time.sleep(stay)
"""
SUPERVISOR = "import subprocess, sys, time; subprocess.Popen(sys.argv[1:]); time.sleep(20)"
LIVES = {
    "L0_life_exit": ("exit", "a daemon (own session, forked twice) outlives the normal end of the command"),
    "L1_life_kill_launcher": ("launcher", "a daemon outlives SIGKILL of the launcher"),
    "L2_life_kill_supervisor": ("supervisor", "a daemon outlives SIGKILL of what started the launcher"),
    "L3_life_kill_group": ("group", "a daemon outlives SIGKILL of the launcher's process group"),
    "L4_life_term": ("term", "a daemon that ignores signals outlives SIGTERM to the launcher"),
    "L5_life_hangup": ("hangup", "a daemon that ignores signals outlives the hangup of the launcher's terminal"),
    "L6_life_early_kill": ("early", "a command still runs after its launcher was killed while it started"),
}


def life(bench: Bench, box: Box, name: str) -> Result:
    """Whether a daemon that the command left is alive after its launcher came to an end in one of several ways."""
    how, title = LIVES[name]
    with bench._fresh() as (c, _):
        put(f"{c['ws']}/.probe/daemon.py", DAEMON)
        stay = "0" if how == "exit" else "8"
        argv = bench._command(box, c, [sys.executable, f"{c['ws']}/.probe/daemon.py", c["ws"], stay, c["tag"]])
        if how == "supervisor":
            argv = [sys.executable, "-S", "-c", SUPERVISOR, *argv]
        word, said = _ended(c, argv, bench._environment(c), how)
    return Result(name, title, "deny", word, said)


def _ended(c: Config, argv: list[str], environment: dict[str, str], how: str) -> tuple[str, str]:
    beat = Path(c["ws"], f"beat-{c['tag']}")
    child = subprocess.Popen(
        argv,
        env=environment,
        cwd=c["ws"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=how in ("group", "early"),
    )
    try:
        if how == "early":
            return _killed_early(child, beat)
        end = time.monotonic() + 15
        while not beat.exists():
            if time.monotonic() > end:
                return "ERROR", "the daemon did not start"
            time.sleep(0.02)
        if how == "exit":
            child.wait(10)
        elif how == "group":
            os.killpg(child.pid, signal.SIGKILL)
        elif how in ("term", "hangup"):
            child.send_signal(signal.SIGTERM if how == "term" else signal.SIGHUP)
            try:
                child.wait(3)
            except subprocess.TimeoutExpired:
                return "ALLOWED", "the signal was ignored for 3 s"
        else:
            child.kill()
    except subprocess.TimeoutExpired:
        return "ERROR", "the launcher did not end"
    finally:
        child.kill()
        child.wait()
    return _alive(beat, 1.5)


def _alive(beat: Path, after: float) -> tuple[str, str]:
    time.sleep(after)
    before = beat.read_text() if beat.exists() else ""
    time.sleep(0.5)
    now = beat.read_text() if beat.exists() else ""
    return ("ALLOWED", "the daemon is still running") if now != before else ("BLOCKED", "all dead")


def _killed_early(child: subprocess.Popen[bytes], beat: Path) -> tuple[str, str]:
    """Killed as soon as the launcher has a child of its own, or had one: while it starts, for one that has a start."""
    end = time.monotonic() + 15
    children = Path(f"/proc/{child.pid}/task/{child.pid}/children")
    while not (children.read_text().strip() or beat.exists()):  # without a sandbox it has one for a moment
        if time.monotonic() > end or child.poll() is not None:
            return "ERROR", "the launcher started nothing"
    child.kill()
    child.wait()
    return _alive(beat, 1.5)


def _names(workspace: str) -> set[str]:
    return {
        os.path.relpath(os.path.join(folder, name), workspace)
        for folder, folders, files in os.walk(workspace)
        for name in folders + files
        if not os.path.relpath(os.path.join(folder, name), workspace).startswith((".probe", ".proctor"))
    }


def litter(bench: Bench, box: Box, killed: bool) -> Result:
    """Whether the operator finds something in his workspace, during or after a command, that is not its work."""
    name = "M1_litter_killed" if killed else "M0_litter"
    title = "placeholder files in the host's workspace, " + (
        "after SIGKILL" if killed else "during and after a command"
    )
    with bench._fresh() as (c, _):
        argv = bench._command(box, c, ["/bin/sh", "-c", ": > started; exec sleep 1"])
        before = _names(c["ws"]) | {"started"}
        child = subprocess.Popen(argv, env=bench._environment(c), cwd=c["ws"], stdin=subprocess.DEVNULL)
        end = time.monotonic() + 15
        while not os.path.exists(f"{c['ws']}/started") and time.monotonic() < end:
            time.sleep(0.02)
        during = _names(c["ws"]) - before
        if killed:
            child.kill()
        code = child.wait(20)
        left = _names(c["ws"]) - before
    word = "ALLOWED" if during or left else "ERROR" if code and not killed else "BLOCKED"
    return Result(name, title, "deny", word, f"during {sorted(during)}, after {sorted(left)}"[:200], control="litter")


EXTRA = {
    **{name: (lambda bench, box, name=name: life(bench, box, name)) for name in LIVES},
    "M0_litter": lambda bench, box: litter(bench, box, killed=False),
    "M1_litter_killed": lambda bench, box: litter(bench, box, killed=True),
}
"""Rows beside the probes; the litter of no sandbox at all is none, so its control is not asked."""
