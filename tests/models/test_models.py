"""The scripted server itself: each API says the same thing, each fault is what it claims, and the truth is kept."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientError, ClientPayloadError, ClientSession

from harness import wait_until
from models.script import Cut, Edit, ErrorEvent, Read, Refuse, Shell, Stall, Tokens, Turn, Write, steps
from models.server import Models
from models.truth import micro

TOKENS = Tokens(input=100, output=40, cache_read=30, reasoning=8)


def request(api: str, model: str = "m", stream: bool = True, *tools: str) -> tuple[str, dict[str, Any]]:
    """A path and a body that ask for one answer."""
    match api:
        case "messages":
            offered = [{"name": name, "input_schema": {"properties": {"file_path": {}}}} for name in tools]
            said = [{"role": "user", "content": "go"}]
            return "/v1/messages", {
                "model": model,
                "stream": stream,
                "messages": said,
                "tools": offered,
                "max_tokens": 9,
            }
        case "responses":
            offered = [{"type": "custom" if name == "apply_patch" else "function", "name": name} for name in tools]
            return "/v1/responses", {"model": model, "stream": stream, "input": "go", "tools": offered}
        case "chat":
            functions = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in tools]
            more = {"stream_options": {"include_usage": True}} if stream else {}
            said = [{"role": "user", "content": "go"}]
            return "/v1/chat/completions", {
                "model": model,
                "stream": stream,
                "messages": said,
                "tools": functions,
                **more,
            }
    declared = [{"name": name, "parameters": {"properties": {"file_path": {}}}} for name in tools]
    body = {"contents": [{"role": "user", "parts": [{"text": "go"}]}], "tools": [{"functionDeclarations": declared}]}
    return f"/v1beta/models/{model}:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}", body


APIS = ("messages", "responses", "chat", "gemini")


@pytest.fixture
def models() -> Iterator[Models]:
    with Models(root="/w") as made:
        yield made
    assert made.failures == []


@pytest.fixture
async def client() -> AsyncIterator[ClientSession]:
    async with ClientSession() as made:
        yield made


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("api", APIS)
async def test_each_api_says_the_same_and_counts_the_same(
    models: Models, client: ClientSession, api: str, stream: bool
) -> None:
    models.script = steps(Turn("Some words that are said.", tokens=TOKENS))
    path, body = request(api, stream=stream)
    async with client.post(models.url + path, json=body) as answer:
        text = await answer.text()
    (row,) = models.rows
    assert (answer.status, row.whole, row.told, row.tokens) == (200, True, True, TOKENS)
    assert "Some w" in text
    assert any(
        f'"{key}": {value}' in text
        for key, value in (("cached_tokens", 30), ("cache_read_input_tokens", 30), ("cachedContentTokenCount", 30))
    )


@pytest.mark.parametrize(
    ("api", "offered", "names"),
    [
        ("messages", ("Bash", "Read", "Write", "Edit"), ("Bash", "Read", "Write", "Edit")),
        ("responses", ("exec_command", "apply_patch"), ("exec_command", "exec_command", "apply_patch", "apply_patch")),
        ("chat", ("bash",), ("bash", "bash", "bash", "bash")),
        (
            "gemini",
            ("run_shell_command", "read_file", "write_file", "replace"),
            ("run_shell_command", "read_file", "write_file", "replace"),
        ),
    ],
)
async def test_what_is_wanted_is_said_in_the_tools_that_are_offered(
    models: Models, client: ClientSession, api: str, offered: tuple[str, ...], names: tuple[str, ...]
) -> None:
    models.script = steps(Turn("Now.", (Shell("ls"), Read("a"), Write("a", "b\n"), Edit("a", "b", "c"))))
    path, body = request(api, "m", True, *offered)
    await (await client.post(models.url + path, json=body)).read()
    assert models.rows[0].tools == names


@pytest.mark.parametrize("api", APIS)
async def test_a_fault_is_of_one_try(models: Models, client: ClientSession, api: str) -> None:
    faults = (Refuse(429, "1", 2.0), Cut("headers"), Cut("text"), ErrorEvent("text"), Stall("gate", "text"))
    models.script = steps(Turn("Some words that are said.", tokens=TOKENS, faults=faults))
    path, body = request(api)
    async with client.post(models.url + path, json=body) as refused:
        assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
        assert await refused.json()
    with pytest.raises(ClientError):
        await client.post(models.url + path, json=body)
    with pytest.raises(ClientPayloadError):
        await (await client.post(models.url + path, json=body)).read()
    assert "scripted" in await (await client.post(models.url + path, json=body)).text()
    async with client.post(models.url + path, json=body) as answer:
        assert await answer.content.readany()
        models.release("gate")
        assert await asyncio.wait_for(answer.content.read(), 60)
    assert [row.whole for row in models.rows] == [False] * 4 + [True]
    assert 0 < models.rows[2].tokens.output < TOKENS.output
    assert models.rows[1].tokens == Tokens()


def test_prices_are_exact_and_change_with_the_prompt_s_length() -> None:
    assert micro("claude-sonnet-4-5", Tokens(1000, 100, 2000, 300, 50)) == 3000 + 1500 + 600 + 1125 + 300
    assert micro("claude-sonnet-4-5", Tokens(200_000, 0)) == 600_000
    assert micro("claude-sonnet-4-5", Tokens(200_001, 0)) == 1_200_006
    assert micro("gpt-4o-mini", Tokens(1)) == 1
    assert micro("nobody", Tokens(1)) is None


async def test_a_process_of_its_own_says_its_port_and_leaves_its_ledger(tmp_path: Path, client: ClientSession) -> None:
    script, port, ledger = (tmp_path / name for name in ("script.json", "port", "ledger.json"))
    turns = [{"say": "Now.", "do": [{"shell": {"command": "ls"}}], "faults": [{"stall": {"gate": "g"}}]}]
    script.write_text(json.dumps({"conversations": [{"when": "go", "turns": turns}]}))
    command = [sys.executable, "-m", "models", "--script", script, "--port-file", port, "--ledger", ledger]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    child = subprocess.Popen(command, env=environment)  # noqa: ASYNC220
    try:
        url = f"http://127.0.0.1:{wait_until(lambda: port.exists() and port.read_text())}"
        path, body = request("chat", "gpt-4o-mini", True, "bash")
        asked = asyncio.create_task(client.post(url + path, json=body))
        async with client.post(f"{url}/_script/release?gate=g") as released:
            assert released.status == 200
        assert b"[DONE]" in await (await asked).read()
    finally:
        child.send_signal(signal.SIGTERM)
        assert child.wait(10) == 0
    (row,) = json.loads(ledger.read_text())["rows"]
    assert (row["tools"], row["whole"], row["told"]) == (["bash"], True, True)
    assert row["micro"] > 0
