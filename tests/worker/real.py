"""A real agent in the sandbox, in front of a scripted model: what it came to, by its dialect."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from models.script import Script
from models.server import Models
from proctor.contract.model import Worker as Contracted
from proctor.doors import door as doors
from proctor.errors import UsageError
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import GATEWAY, Policy
from proctor.words import Api
from proctor.worker import dialects
from proctor.worker.base import Ask, WorkerEvent
from proctor.worker.dialect import Setting
from proctor.worker.process import Worker, start

Decide = Callable[[Worker, Ask], None]


def allow(worker: Worker, ask: Ask) -> None:
    worker.answer(ask.id, True, "", ask.input)


@dataclass
class Session:
    """What a session came to: its events, and how the program ended."""

    events: list[WorkerEvent] = field(default_factory=list)
    asked: list[Ask] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    calls: int = 0
    side: int = 0
    code: int | None = None

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


async def relay(here: tuple[asyncio.StreamReader, asyncio.StreamWriter], port: int) -> None:
    """Bytes both ways between the sandbox and the model."""
    there = await asyncio.open_connection("127.0.0.1", port)

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    await asyncio.gather(pump(here[0], there[1]), pump(there[0], here[1]), return_exceptions=True)


def run(
    contract: dict[str, Any],
    workspace: Path,
    script: Script,
    decide: Decide = allow,
    *,
    brief: str = "Do it.",
    rules: str = "",
    apis: tuple[Api, ...] = (),
    asked: bool = True,
    seconds: float = 90,
) -> Session:
    """Run what the contract's `worker` names to its end. Fails where its program is not there."""
    try:
        dialect = dialects.choose(Contracted.model_validate(contract), asked)
    except UsageError as error:
        pytest.fail(str(error))

    async def go() -> Session:
        session, over, door = Session(), asyncio.Event(), doors.make(workspace.parent)

        def hear(source: str, line: bytes, events: tuple[WorkerEvent, ...]) -> None:
            session.events += events
            for event in events:
                if isinstance(event, Ask):
                    session.asked.append(event)
                    decide(worker, event)

        with Models(script, root=str(workspace)) as models:
            worker = start(
                dialect,
                Setting(brief, contract["model"], f"http://{GATEWAY}", "token", str(workspace), rules, apis),
                backend=choose("bwrap"),
                policy=Policy(workspace, door=door.folder, listen=True, environment={"IS_SANDBOX": "1"}),
                door=door,
                on_line=hear,
                on_exit=over.set,
            )
            server = await asyncio.start_server(lambda *here: relay(here, models.port), sock=worker.running.listener)
            try:
                await asyncio.wait_for(over.wait(), seconds)
            finally:
                session.code = (await worker.close()).code
                server.close()
                worker.release()
                door.remove()
            session.calls = len(models.calls())
            session.side = len(models.rows) - session.calls
            session.bodies = [json.loads(body) for body in models.bodies]
            assert models.failures == []
        return session

    return asyncio.run(go())
