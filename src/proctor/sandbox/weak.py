"""The weaker backend, by contract only: Landlock and no_new_privs, without namespaces.

It holds the operator's files and TCP, and bounds signals where the kernel can. It does not hold what lies inside
the workspace (protected and hidden paths, `.git`, `.proctor`), UDP, Unix sockets, shared memory, or the list of
processes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.sandbox import host, kept, landlock
from proctor.sandbox.limits import Bounds
from proctor.sandbox.policy import Policy, settled
from proctor.sandbox.running import DEVNULL, START_SECONDS, Backend, Running, refused
from proctor.trees import scratch_folder


@dataclass(frozen=True, slots=True)
class Weak(Backend):
    name: str = "weak"

    def describe(self) -> str:
        return f"Landlock {landlock.version()} of this kernel, without namespaces: asked for by `sandbox.kind: weak`"

    def selftest(self, policy: Policy) -> Bounds:
        if landlock.version() < landlock.LEAST:
            raise refused("`weak` needs Landlock with rules for TCP: Linux 6.7 or later with `landlock` in lsm=")
        with self.launch(["/bin/sh", "-c", ":"], policy) as running:
            result = running.wait(START_SECONDS)
        if result.code != 0:
            raise refused("a command that does nothing could not run under Landlock: use a kernel with user namespaces")
        return running.bounds

    def launch(
        self, argv: Sequence[str], policy: Policy, *, stdin: int = DEVNULL, stdout: int = DEVNULL, stderr: int = DEVNULL
    ) -> Running:
        policy = settled(policy)
        with contextlib.ExitStack() as made:
            scratch = made.enter_context(scratch_folder())
            places = {"HOME": str(scratch), "TMPDIR": str(scratch)}
            running = kept.launch(
                argv,
                policy,
                streams=(stdin, stdout, stderr),
                environment={**host.environment(), **places, **policy.environment},
                rules=rules(policy, scratch),
                scratch=scratch,
            )
            running.made = made.pop_all()
            return running


def rules(policy: Policy, *scratch: Path) -> dict[str, list[str]]:
    """What Landlock lets a command do, for a settled policy: see `landlock.restrict`."""
    tools = host.view(policy.workspace, policy.programs).tools
    door = [policy.door] if policy.door else []
    read = [*host.SYSTEM, "/proc", *tools, *(source for source, _ in policy.readonly), *door, policy.folder]
    write = [*([policy.folder] if policy.writable else []), *scratch]
    return {"read": list(map(str, read)), "write": list(map(str, write)), "device": ["/dev"]}
