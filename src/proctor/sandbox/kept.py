"""Sandboxes without namespaces: the command runs below a keeper process that adopts and ends all it starts."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from proctor.sandbox import kill, limits
from proctor.sandbox.policy import DOOR, GATEWAY, Policy
from proctor.sandbox.running import Held, Running, StartFailed, hold, refused

KEEPER = Path(__file__).with_name("keeper.py")


class Kept(Running):
    """A sandbox whose members are the keeper's descendants; the keeper's pid stands for init's."""

    def __init__(
        self,
        held: Held,
        leash: int,
        listening: socket.socket | None,
        bounds: limits.Bounds,
    ) -> None:
        super().__init__(held.process, held.status, held.process.pid, listening, bounds)
        self._leash = leash
        self.made = contextlib.ExitStack()
        """Closed at the end: what was made for it."""

    def members(self) -> list[int]:
        return kill.descendants(self.pid) if self._process.returncode is None else []

    def _end_members(self) -> None:
        kill.end(self.members)
        os.close(self._leash)
        self.made.close()


def launch(
    argv: Sequence[str],
    policy: Policy,
    *,
    streams: tuple[int, int, int],
    environment: Mapping[str, str],
    rules: dict[str, list[str]] | None = None,
    scratch: Path | None = None,
) -> Kept:
    """Starts a command below a keeper, under Landlock `rules` if there are any. The keeper removes `scratch` when it is
    the last one who can."""
    with contextlib.ExitStack() as undo:
        server = undo.enter_context(socket.create_server(("127.0.0.1", 0))) if policy.listen else None
        connect = [server.getsockname()[1]] if server else []

        def real(text: str) -> str:
            """The door and the gateway have no fixed place where there is no namespace."""
            text = text.replace(DOOR, str(policy.door)) if policy.door else text
            return text.replace(GATEWAY, f"127.0.0.1:{connect[0]}") if connect else text

        leash_end, leash = os.pipe()
        undo.callback(os.close, leash)
        order = json.dumps(
            {
                "rules": rules and {**rules, "connect": connect},
                "calls": [policy.unix_sockets, policy.shared],
                "scratch": scratch and str(scratch),
            }
        )

        def command(status: int, gate: int) -> list[str]:
            own = [sys.executable, "-I", "-S", str(KEEPER), str(status), str(gate), str(leash_end), order]
            return own + [real(word) for word in argv]

        variables = {name: real(text) for name, text in environment.items()}
        python, place = Path(sys.executable), _place(policy)
        try:
            held = hold(command, python, fds=[leash_end], environment=variables, streams=streams, place=place)
            with held.preparing() as undo_start:
                bounds = limits.impose(held.child, policy.limits, own_namespace=False)
                undo_start.callback(bounds.lift)
                running = Kept(held, leash, server, bounds)
        except StartFailed as failure:
            raise refused(f"{python} could not start the command: {failure}") from None
        finally:
            os.close(leash_end)
        undo.pop_all()
        return running


def _place(policy: Policy) -> Path:
    """Where the command starts: a copy is worked in where it lies."""
    place = policy.chdir or policy.workspace
    if policy.source and place.is_relative_to(policy.workspace):
        return policy.source / place.relative_to(policy.workspace)
    return place
