"""A backend that remembers what it started, so that everything can be ended from one place."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from subprocess import DEVNULL

from proctor.sandbox.limits import Bounds
from proctor.sandbox.policy import Policy
from proctor.sandbox.running import Backend, Running


class Wrapped(Backend):
    """A backend that is another one, but for what is done with what it launches."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.name = backend.name

    def describe(self) -> str:
        return self._backend.describe()

    def selftest(self, policy: Policy) -> Bounds:
        return self._backend.selftest(policy)

    def launch(
        self, argv: Sequence[str], policy: Policy, *, stdin: int = DEVNULL, stdout: int = DEVNULL, stderr: int = DEVNULL
    ) -> Running:
        running = self._backend.launch(argv, policy, stdin=stdin, stdout=stdout, stderr=stderr)
        self._launched(running)
        return running

    def _launched(self, running: Running) -> None:
        """Called with each command once it runs."""
        raise NotImplementedError


class Tracker(Wrapped):
    """`kill_all()` ends everything it started that still lives."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._running: list[Running] = []
        self._lock = threading.Lock()

    def _launched(self, running: Running) -> None:
        with self._lock:
            self._running = [one for one in self._running if one.poll() is None]
            self._running.append(running)

    def kill_all(self) -> None:
        """End whatever is alive."""
        with self._lock:
            for running in self._running:
                running.kill()
            self._running.clear()
