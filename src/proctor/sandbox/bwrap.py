"""The backend with real walls: bubblewrap, with every namespace, no network and no capability."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from socket import socket

from proctor.errors import UsageError
from proctor.sandbox import guarded, host, kill, limits, seccomp
from proctor.sandbox.below import content
from proctor.sandbox.mounts import Mounts
from proctor.sandbox.policy import GATEWAY_PORT, Policy, settled
from proctor.sandbox.refusals import explain
from proctor.sandbox.running import (
    DEVNULL,
    END_SECONDS,
    START_SECONDS,
    Backend,
    Held,
    Running,
    StartFailed,
    hold,
    refused,
)

WALLS = (
    "--unshare-user",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--hostname",
    "localhost",  # the one name that resolves without a network
    "--clearenv",
)

MOST_WORDS = 8_900
"""Bubblewrap refuses more than 9,000 arguments; a few are its own."""


class Inside(Running):
    """A sandbox with a PID namespace: its members are known by it and die with its init."""

    def __init__(self, held: Held, listening: socket | None, bounds: limits.Bounds) -> None:
        super().__init__(held.process, held.status, held.child, listening, bounds)
        self._init = os.pidfd_open(held.child)
        self._namespace = os.stat(f"/proc/{held.child}/ns/pid").st_ino

    def members(self) -> list[int]:
        return [pid for pid in kill.namespace_members(self._namespace) if pid != self.init_pid]

    def _end_members(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._init, signal.SIGKILL)
        if not kill.ended(self._init, END_SECONDS):
            raise TimeoutError("the sandbox's first process did not end")
        os.close(self._init)


@dataclass(frozen=True, slots=True)
class Bubblewrap(Backend):
    """Runs commands under one bwrap binary; `why` says in words how it came to be chosen."""

    binary: Path
    why: str
    name: str = "bwrap"

    def describe(self) -> str:
        return f"{_version(self.binary)} at {self.binary}: {self.why}"

    def selftest(self, policy: Policy) -> limits.Bounds:
        with tempfile.TemporaryFile() as said:
            try:
                with self._start(["/bin/sh", "-c", ":"], policy, (DEVNULL, DEVNULL, said.fileno())) as running:
                    if running.wait(START_SECONDS).code == 0:
                        return running.bounds
            except (StartFailed, TimeoutError):
                pass
            said.seek(0)
            raise refused(explain(said.read(4096).decode(errors="replace"), self.binary))

    def launch(
        self, argv: Sequence[str], policy: Policy, *, stdin: int = DEVNULL, stdout: int = DEVNULL, stderr: int = DEVNULL
    ) -> Running:
        try:
            return self._start(argv, policy, (stdin, stdout, stderr))
        except StartFailed as failure:
            self.selftest(policy)
            raise refused(f"{self.binary} could not start the command: {failure}") from None

    def _start(self, argv: Sequence[str], policy: Policy, streams: tuple[int, int, int]) -> Running:
        policy = settled(policy)
        guarded.stand()
        latch_end, latch = os.pipe()
        try:
            held = self._hold(argv, policy, streams, latch_end).latched(latch)
        except BaseException:
            os.close(latch)
            raise
        finally:
            os.close(latch_end)
        with held.preparing() as undo:  # and meanwhile bubblewrap mounts
            bounds = limits.impose(held.child, policy.limits, True, held.bound)
            undo.callback(bounds.lift)
            server = guarded.listen(held.child, GATEWAY_PORT) if policy.listen else None
            return Inside(held, server, bounds)

    def _hold(self, argv: Sequence[str], policy: Policy, streams: tuple[int, int, int], latch: int) -> Held:
        mounts = Mounts(policy, [self.binary], latch)
        try:
            told = arguments(policy, mounts)
            if len(told) + len(argv) > MOST_WORDS:
                most = f"{len(told):,} words, and bubblewrap takes {MOST_WORDS:,}"
                raise refused(f"there is too much to hide and to protect in {policy.workspace} ({most}): remove some")
            words = _listed(told)
            fds = (*mounts.fds, words, latch)

            def command(status: int, gate: int) -> list[str]:
                own = ["--args", str(words), "--json-status-fd", str(status), "--block-fd", str(gate)]
                return [kill.tag(), *own, "--", *argv]

            birth = limits.birth(policy.limits)
            try:
                return hold(command, self.binary, fds=fds, environment={}, streams=streams, birth=birth)
            finally:
                os.close(words)
        finally:
            mounts.close()


def arguments(policy: Policy, mounts: Mounts) -> tuple[str, ...]:
    """All that bubblewrap is told of the walls; the descriptors it names are the mounts'."""
    environment = {**host.environment(), **policy.environment}
    if policy.repository:  # the folder above the workspace, where git looks too, is another file system inside
        environment["GIT_DISCOVERY_ACROSS_FILESYSTEM"] = "1"
    variables = (word for name, text in environment.items() for word in ("--setenv", name, text))
    calls = content(seccomp.program(policy.unix_sockets, shared=policy.shared))
    mounts.fds.append(calls)
    chdir = str(policy.chdir or policy.workspace)
    return (*WALLS, "--seccomp", str(calls), *variables, *mounts.words, "--chdir", chdir)


def _listed(words: tuple[str, ...]) -> int:
    """Bubblewrap's arguments as a descriptor for `--args`: nothing of them shows in the host's process list."""
    if any("\0" in word for word in words):
        raise UsageError("a path or a variable of the sandbox holds a NUL character: take it out")
    return content(os.fsencode("\0".join((*words, ""))))


@cache
def _version(binary: Path) -> str:
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, errors="replace", check=False).stdout
    return said.strip() or "bwrap of an unknown version"
