"""A dialect and the program it starts, without a sandbox: what is told, and what was asked is answered."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

from proctor.worker.base import Ask, TurnEnded, WorkerEvent
from proctor.worker.dialect import Dialect, Setting, Stdin

Answer = Callable[[Ask, Dialect], None]


def allow(asked: Ask, dialect: Dialect) -> None:
    dialect.answer(asked.id, True, "")


async def drive(
    dialect: Dialect, setting: Setting, home: Path, answer: Answer = allow, seconds: float = 60
) -> list[WorkerEvent]:
    """Run the agent to the end of its turn, and then out; every event in order."""
    launch = dialect.launch(setting)
    for name, text in launch.files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **launch.environment}
    process = await asyncio.create_subprocess_exec(
        shutil.which(launch.argv[0]) or launch.argv[0],
        *launch.argv[1:],
        cwd=setting.workspace,
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=(home / "stderr").open("wb"),
        start_new_session=True,
        limit=1 << 26,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, told = process.stdin, list[WorkerEvent]()

    def tell(event: WorkerEvent) -> None:
        told.append(event)
        if isinstance(event, TurnEnded):
            stdin.close()
        elif isinstance(event, Ask):
            asyncio.get_running_loop().call_soon(answer, event, dialect)

    def send(data: bytes) -> None:
        if not stdin.is_closing():
            stdin.write(data)

    try:
        async with asyncio.timeout(seconds):
            dialect.begin(send, tell)
            if launch.stdin is Stdin.BRIEF:
                stdin.write(setting.brief.encode())
                stdin.close()
            async for line in process.stdout:
                dialect.heard("stdout", line.rstrip(b"\n"))
            await process.wait()
    except TimeoutError:
        told.append(TurnEnded(False, f"not within {seconds:.0f} s: {(home / 'stderr').read_text()[-2000:]}"))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return told
