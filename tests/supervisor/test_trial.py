"""What `check` tries: a dry call through the gateway, and what an open request stops."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models.script import Refuse, Tokens, Turn
from models.server import Models
from proctor.cli.main import main
from proctor.contract.load import load
from proctor.errors import UsageError
from proctor.supervisor import dry, suspension
from proctor.supervisor.preflight import preflight
from proctor.supervisor.stub import StubModel

CONTRACT = """\
goal: Try the worker
worker: {worker}
budget: {{iterations: {{limit: 1, on_exhaustion: stop}}}}
progress: {{checks: [{{run: [test, -e, made]}}]}}
gateway: {{upstream: {{{upstream}: {{base_url: "{url}"}}}}}}
"""
SLEEPER = """\
import json, os
print(json.dumps({"proctor": "ask", "id": "1", "tool": "shell", "input": {"command": "touch x"}}), flush=True)
open(os.environ["PROCTOR_ANSWERS"]).readline()
"""
RESTLESS = """\
import json, itertools
print(json.dumps({"proctor": "ask", "id": "1", "tool": "shell", "input": {"command": "touch x"}}), flush=True)
for number in itertools.count():
    if number % 300_000 == 0:
        print(number, flush=True)
"""


def contract(folder: Path, worker: str, url: str, upstream: str = "anthropic") -> Path:
    (folder / "proctor.yaml").write_text(CONTRACT.format(worker=worker, url=url, upstream=upstream))
    (folder / "tasks.json").write_text(json.dumps([{"id": 1, "task": "x"}, {"id": 2, "task": "y"}]))
    return folder


@pytest.mark.parametrize(
    ("worker", "upstream", "api"),
    [
        ("{kind: claude, model: claude-sonnet-4-5}", "anthropic", "messages"),
        ("{kind: codex, model: gpt-5}", "openai", "responses"),
        ("{kind: acp, agent: gemini, model: gemini-2.5-flash}", "gemini", "gemini"),
        ("{kind: acp, agent: qwen, model: qwen}", "openai", "chat"),
        ("{kind: command, command: [x], model: any}", "gemini", "gemini"),
    ],
)
async def test_the_dry_call_is_made_in_the_worker_s_own_language(
    tmp_path: Path, worker: str, upstream: str, api: str
) -> None:
    with Models(lambda _: Turn("ready", tokens=Tokens(input=7, output=3))) as models:
        work = contract(tmp_path, worker, models.url, upstream)
        answered = await dry.call(work, load(work))
    assert answered is not None
    assert (answered.upstream, answered.tokens) == (upstream, 10)
    assert [row.api for row in models.rows] == [api]


async def test_a_dry_call_that_fails_is_one_line_with_the_provider_s_words(tmp_path: Path) -> None:
    turn = Turn("", faults=(Refuse(401, message="invalid x-api-key"),) * 9)
    with Models(lambda _: turn) as models:
        work = contract(tmp_path, "{kind: claude, model: claude-sonnet-4-5}", models.url)
        with pytest.raises(UsageError, match=r"anthropic: a dry call of .* failed \(401\): .*invalid x-api-key"):
            await dry.call(work, load(work))


async def test_a_worker_whose_language_no_upstream_speaks_is_one_line_that_names_both(tmp_path: Path) -> None:
    work = contract(tmp_path, "{kind: claude, model: claude-sonnet-4-5}", "http://127.0.0.1:9", "openai")
    with pytest.raises(UsageError) as caught:
        await dry.call(work, load(work))
    assert str(caught.value) == (
        "gateway.upstream: claude speaks anthropic, and no upstream does (openai speaks openai); "
        "add one named anthropic, or with `speaks: anthropic`"
    )


async def test_without_a_model_or_an_upstream_nothing_is_asked(tmp_path: Path) -> None:
    work = contract(tmp_path, "{kind: claude}", "http://127.0.0.1:9")
    assert await dry.call(work, load(work)) is None


def test_no_session_starts_with_an_agent_that_reaches_no_model(tmp_path: Path) -> None:
    work = contract(tmp_path, "{kind: acp, agent: qwen, command: [sh]}", "http://127.0.0.1:9")
    path = work / "proctor.yaml"
    path.write_text(path.read_text().partition("gateway:")[0])
    with pytest.raises(UsageError, match=r"^proctor\.yaml: gateway\.upstream: where is the model\? qwen reaches"):
        preflight(work)


def test_check_says_what_the_key_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = contract(tmp_path, "{kind: command, command: [sh], model: x}", "http://127.0.0.1:9")
    path = work / "proctor.yaml"
    path.write_text(path.read_text().replace('9"}', '9", key: env:PROCTOR_TEST_NO_SUCH_KEY}'))
    assert main(["check", str(work)]) == 2
    said = "gateway.upstream: env:PROCTOR_TEST_NO_SUCH_KEY: there is no key; `export PROCTOR_TEST_NO_SUCH_KEY="
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("script", "suspends"), [(SLEEPER, True), (RESTLESS, False)])
async def test_what_an_open_request_stops_is_shown_and_a_worker_that_does_not_suspend_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, suspends: bool
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    work = tmp_path / "work"
    work.mkdir()
    (work / "worker.py").write_text(script)
    contract(work, "{kind: command, command: [python3, worker.py]}", "http://127.0.0.1:9")
    shown = await suspension.show(work, load(work), seconds=0.5)
    assert shown.asked == "shell touch x"
    assert shown.suspends is suspends
    assert shown.holds
    assert ("does not suspend by itself" in shown.lines()[0]) is not suspends
    assert sorted(path.name for path in work.iterdir()) == ["proctor.yaml", "tasks.json", "worker.py"]


async def test_a_worker_that_never_asks_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    work = tmp_path / "work"
    work.mkdir()
    contract(work, "{kind: command, command: [sh, -c, 'exit 3']}", "http://127.0.0.1:9")
    with pytest.raises(UsageError, match="suspension: the worker asked nothing: "):
        await suspension.show(work, load(work), seconds=0.5)


async def test_the_stub_asks_once_for_a_shell_and_is_done() -> None:
    from aiohttp import ClientSession

    async with StubModel().serving() as stub, ClientSession() as client:
        tools = [{"name": "Bash", "input_schema": {"properties": {"command": {}, "description": {}}}}]
        texts = []
        for _ in range(2):
            async with client.post(f"http://127.0.0.1:{stub.port}/v1/messages", json={"tools": tools}) as answer:
                texts.append(await answer.text())
    assert "touch asked-by-proctor" in texts[0]
    assert "tool_use" not in texts[1]
    assert stub.calls == 2
