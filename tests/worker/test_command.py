"""A real program in a real sandbox: what it is given and what is read of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from proctor.doors import door as doors
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Policy
from proctor.worker.command import Command
from proctor.worker.dialect import Setting
from proctor.worker.process import start

SAYS = "import sys; print(sys.stdout.isatty()); print('x' * 300, flush=True); print('oops', file=sys.stderr)"


def lines_of(workspace: Path, *, terminal: bool) -> list[tuple[str, bytes]]:
    """What a worker said, with the stream it came by."""

    async def talk() -> list[tuple[str, bytes]]:
        found: list[tuple[str, bytes]] = []
        over = asyncio.Event()
        door = doors.make()
        worker = start(
            Command(("python3", "-c", SAYS), "argument", terminal),
            Setting("do it", None, "", "", str(workspace)),
            backend=choose("bwrap"),
            policy=Policy(workspace),
            door=door,
            on_line=lambda source, line, _: found.append((source, line)),
            on_exit=over.set,
        )
        await asyncio.wait_for(over.wait(), 30)
        await worker.close()
        worker.release()
        door.remove()
        return found

    return asyncio.run(talk())


@pytest.mark.parametrize("terminal", [False, True])
def test_a_worker_has_a_terminal_of_its_own_only_if_asked_for(tmp_path: Path, terminal: bool) -> None:
    found = lines_of(tmp_path, terminal=terminal)
    assert [line for source, line in found if source == "stdout"][:2] == [str(terminal).encode(), b"x" * 300]
    assert (("stdout" if terminal else "stderr"), b"oops") in found
