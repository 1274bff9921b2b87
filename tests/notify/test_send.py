"""A notice reaches its channels in safe words, and no channel can hold the supervisor up."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from harness import PATIENCE
from proctor.notify import Channels, Sent, Urgency, send

NOBODY = {"PATH": "/usr/bin:/bin"}


def script(folder: Path, name: str, body: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def desktop(folder: Path, body: str) -> dict[str, str]:
    """An environment with a desktop whose `notify-send` does this."""
    script(folder, "notify-send", body)
    return {"PATH": f"{folder}:/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"}


async def test_a_command_is_told_the_notice_in_safe_words(tmp_path: Path) -> None:
    script(tmp_path, "tell.sh", 'printf "%s|%s|%s" "$PROCTOR_TITLE" "$PROCTOR_TEXT" "$PROCTOR_URGENCY" > told')
    channels = Channels(bell=False, commands=(("./tell.sh",),))
    sent = await send(
        channels, "billing \x1b[31masks", "line one\nline\u202e two\0", Urgency.HIGH, tmp_path, environment=NOBODY
    )
    assert sent == Sent(bell=False)
    assert (tmp_path / "told").read_text() == "billing asks|line one line two|high"


async def test_the_desktop_gets_its_text_escaped_and_its_title_plain(tmp_path: Path) -> None:
    environment = desktop(tmp_path, f'printf "%s\\n" "$@" > {tmp_path}/told')
    sent = await send(Channels(False, True), "-a <b>", "x < y & \x07z", Urgency.HIGH, tmp_path, environment=environment)
    assert sent == Sent(bell=False)
    told = (tmp_path / "told").read_text().splitlines()
    assert told == ["--app-name=proctor", "--urgency=critical", "--", "-a <b>", "x &lt; y &amp; z"]


@pytest.mark.parametrize(
    "environment",
    [{"PATH": "/nowhere", "DISPLAY": ":0"}, {}, NOBODY],
)
async def test_the_bell_stands_in_for_a_desktop_that_is_not_there(tmp_path: Path, environment: dict[str, str]) -> None:
    assert await send(Channels(False, True), "t", "x", Urgency.LOW, tmp_path, environment=environment) == Sent(
        bell=True
    )


async def test_the_bell_stands_in_for_a_desktop_that_fails(tmp_path: Path) -> None:
    sent = await send(Channels(False, True), "t", "x", Urgency.LOW, tmp_path, environment=desktop(tmp_path, "exit 1"))
    assert sent == Sent(True, (f"desktop: {tmp_path}/notify-send: exit status 1",))


async def test_each_failing_command_is_one_line_and_the_others_still_run(tmp_path: Path) -> None:
    good = script(tmp_path, "good", f"touch {tmp_path}/ran")
    bad = script(tmp_path, "bad", "exit 3")
    commands = ((bad,), ("/no/such/program",), (), ("sh\0",), (good,))
    sent = await send(Channels(commands=commands), "t", "x", Urgency.NORMAL, tmp_path, environment=NOBODY)
    assert len(sent.failures) == 4
    assert sent.failures[0] == f"command: {bad}: exit status 3"
    assert sent.failures[1].startswith("command: /no/such/program: ")
    assert all("\n" not in line and "\0" not in line for line in sent.failures)
    assert (tmp_path / "ran").exists()


async def test_a_command_that_hangs_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids, wait_for = tmp_path / "pids", asyncio.wait_for
    pids.mkdir()

    async def from_when_it_hangs(waiting: Coroutine[Any, Any, int], patience: float) -> int:
        while len(os.listdir(pids)) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return await wait_for(waiting, patience)

    monkeypatch.setattr(asyncio, "wait_for", from_when_it_hangs)
    body = f"sleep 1000 & touch {tmp_path}/pids/$!; touch {tmp_path}/pids/$$; wait"
    hanging = script(tmp_path, "hang", body)
    sent = await send(
        Channels(commands=((hanging,),)), "t", "x", Urgency.NORMAL, tmp_path, environment=NOBODY, patience=1
    )
    assert sent.failures == (f"command: {hanging}: did not end within 1 s",)
    assert_dead(tmp_path / "pids", 2)


async def test_what_a_command_leaves_behind_is_ended_too(tmp_path: Path) -> None:
    (tmp_path / "pids").mkdir()
    leaving = script(tmp_path, "leave", f"sleep 1000 & touch {tmp_path}/pids/$!")
    sent = await send(Channels(commands=((leaving,),)), "t", "x", Urgency.NORMAL, tmp_path, environment=NOBODY)
    assert sent.failures == ()
    assert_dead(tmp_path / "pids", 1)


async def test_a_notice_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "started")
    (tmp_path / "pids").mkdir()
    hanging = script(tmp_path, "hang", f"touch {tmp_path}/pids/$$; echo > {tmp_path}/started; exec sleep 1000")
    sending = asyncio.create_task(
        send(Channels(commands=((hanging,),)), "t", "x", Urgency.NORMAL, tmp_path, environment=NOBODY)
    )
    await asyncio.to_thread((tmp_path / "started").read_text)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert_dead(tmp_path / "pids", 1)


async def test_a_missing_folder_is_a_failure_and_not_an_error(tmp_path: Path) -> None:
    sent = await send(Channels(commands=(("true",),)), "t", "x", Urgency.NORMAL, tmp_path / "gone", environment=NOBODY)
    assert len(sent.failures) == 1


def assert_dead(pids: Path, number: int) -> None:
    """All of these processes end; one that init has yet to reap counts as dead."""
    names = os.listdir(pids)
    assert len(names) == number
    deadline = time.monotonic() + PATIENCE
    while any(alive(int(name)) for name in names):
        assert time.monotonic() < deadline, "a process is still alive"


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


async def test_no_folder_of_a_workspace_is_on_the_path_of_a_command(tmp_path: Path) -> None:
    (tmp_path / "proctor.yaml").touch()
    (tmp_path / "bin").mkdir()
    for name in ("notify-send", "sh"):
        script(tmp_path / "bin", name, f"touch {tmp_path}/planted")
    environment = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "DISPLAY": ":nowhere"}
    channels = Channels(False, True, commands=(("sh", "-c", "sh -c 'touch told'"),))
    await send(channels, "t", "x", Urgency.LOW, tmp_path, environment=environment)
    assert (tmp_path / "told").exists()
    assert not (tmp_path / "planted").exists()
