"""A real program in a real sandbox: what it is given and what is read of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from harness import PATIENCE
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
        door = doors.make(workspace.parent)
        worker = start(
            Command(("python3", "-c", SAYS), "argument", terminal),
            Setting("do\0it", None, "", "", str(workspace)),
            backend=choose("bwrap"),
            policy=Policy(workspace),
            door=door,
            on_line=lambda source, line, _: found.append((source, line)),
            on_exit=over.set,
        )
        await asyncio.wait_for(over.wait(), PATIENCE)
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


def test_each_answer_reaches_its_own_question_whatever_ids_a_worker_gives() -> None:
    told: list[Any] = []
    sent: list[dict[str, Any]] = []
    command = Command(("true",))
    command.begin(lambda data: sent.append(json.loads(data)), told.append)
    for asked, line in (("q", "ls"), ("q", "rm"), ("q~2", "cp"), (1, "a"), ("1", "b")):
        question = {"proctor": "ask", "id": asked, "tool": "shell", "input": {"command": line}}
        command.heard("stdout", json.dumps(question).encode())
    assert [ask.id for ask in told] == ["q", "q~2", "q~2~2", "1", "1~2"]
    for ask in reversed(told):
        command.answer(ask.id, ask.input["command"] == "ls", "")
        command.answer(ask.id, True, "")
    assert [(one["id"], one["decision"], one["input"]["command"]) for one in reversed(sent)] == [
        ("q", "allow", "ls"), ("q~2", "deny", "rm"), ("q~2~2", "deny", "cp"), ("1", "deny", "a"), ("1~2", "deny", "b"),
    ]  # fmt: skip
