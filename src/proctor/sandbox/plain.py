"""No walls, by contract only: the command runs as the operator, with the operator's environment and home.

Limits, freezing and the ending of everything it started are the same as elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.sandbox import kept
from proctor.sandbox.limits import Bounds
from proctor.sandbox.policy import Policy, settled
from proctor.sandbox.running import DEVNULL, Backend, Running


@dataclass(frozen=True, slots=True)
class Plain(Backend):
    name: str = "none"

    def describe(self) -> str:
        return "nothing: asked for by `sandbox.kind: none`"

    def selftest(self, policy: Policy) -> Bounds:
        with self.launch(["/bin/sh", "-c", ":"], policy) as running:
            return running.bounds

    def launch(
        self, argv: Sequence[str], policy: Policy, *, stdin: int = DEVNULL, stdout: int = DEVNULL, stderr: int = DEVNULL
    ) -> Running:
        environment = {**os.environ, **policy.environment}
        return kept.launch(argv, settled(policy), streams=(stdin, stdout, stderr), environment=environment)
