"""One dry call: whether a model answers through the gateway, asked the way the contract's worker will ask."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, UnixConnector

from proctor.contract.model import Contract
from proctor.doors import door as doors
from proctor.doors.gateway.port import Admitted, Denied, Rules, Upstream, Wanted
from proctor.doors.gateway.server import Gateway
from proctor.doors.gateway.upstream import choose
from proctor.errors import UsageError
from proctor.journal.events import ModelCall
from proctor.supervisor import policies
from proctor.text import safe_line
from proctor.trees import scratch_folder

SECONDS = 60.0
WORDS = "Answer with one word: ready."
FAMILY = {"messages": "anthropic", "responses": "openai", "chat": "openai", "gemini": "gemini"}
"""Of each language the upstreams that speak it."""
MOST = 64
"""Tokens that the answer may have."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A model answered: which upstream and model, how long it took, what it used."""

    upstream: str
    model: str
    seconds: float
    tokens: int

    def __str__(self) -> str:
        where = safe_line(f"{self.model} answered through the gateway ({self.upstream})", 200)
        return f"{where} in {self.seconds:.1f} s, {self.tokens} tokens"


class _Keeper:
    """A steward that lets one call through and keeps what it came to."""

    def __init__(self, upstreams: tuple[Upstream, ...]) -> None:
        self._rules = Rules(upstreams)
        self.call: ModelCall | None = None

    def rules(self) -> Rules:
        return self._rules

    def held(self) -> str | None:
        return None

    async def settled(self) -> None:
        return None

    async def admit(self, wanted: Wanted) -> Admitted | Denied:
        return Admitted()

    async def settle(self, call: ModelCall) -> None:
        self.call = call

    def limited(self, upstream: str, why: str, until: float | None) -> None:
        return None

    def unlimited(self, upstream: str) -> None:
        return None

    def holding(self, calls: int, since: float) -> None:
        return None

    async def asks_host(self, host: str, port: int) -> bool:
        return False

    def log(self, text: str) -> None:
        return None

    def log_once(self, text: str) -> None:
        return None


def request(kind: str, model: str) -> tuple[str, Mapping[str, Any]]:
    """The path and body of the smallest call, in the language that is named: messages, responses, chat or gemini."""
    said = [{"role": "user", "content": WORDS}]
    match kind:
        case "messages":
            return "/v1/messages", {"model": model, "max_tokens": MOST, "messages": said}
        case "responses":
            return "/v1/responses", {"model": model, "max_output_tokens": MOST, "input": WORDS, "store": False}
        case "gemini":
            contents = [{"role": "user", "parts": [{"text": WORDS}]}]
            limits = {"maxOutputTokens": MOST}
            return f"/v1beta/models/{model}:generateContent", {"contents": contents, "generationConfig": limits}
    return "/v1/chat/completions", {"model": model, "messages": said}


def language(contract: Contract, upstreams: tuple[Upstream, ...]) -> str:
    """The language in which the contract's worker asks; for a worker that is not known, its first upstream's."""
    worker = contract.worker
    known = {"claude": "messages", "codex": "responses"}.get(worker.kind) or {
        "gemini": "gemini", "qwen": "chat", "aider": "chat", "mini": "chat",
    }.get(worker.agent or "")  # fmt: skip
    spoken = next((family for one in upstreams for family in sorted(one.speaks)), "anthropic")
    return known or {"anthropic": "messages", "openai": "chat", "gemini": "gemini"}[spoken]


async def call(workspace: Path, contract: Contract) -> Answered | None:
    """Make the call; None where the contract names no upstream or no model. UsageError if nothing answers."""
    upstreams = policies.upstreams(workspace, contract)
    model = contract.worker.model
    if not upstreams or model is None:
        return None
    spoken = language(contract, upstreams)
    chosen = _chosen(contract, upstreams, spoken)
    keeper = _Keeper(upstreams)
    path, body = request(spoken, model)
    with scratch_folder() as folder:
        door = doors.make(folder)
        gateway = Gateway(keeper, iteration=0, task=None, record_to=None)
        await gateway.start(door.folder, None)
        begun = time.monotonic()
        try:
            status, said = await _ask(door.folder / doors.SOCKET, path, body)
        finally:
            await gateway.stop()
    if status != 200 or keeper.call is None:
        theirs = f" ({keeper.call.status})" if keeper.call and keeper.call.status else ""
        raise UsageError(
            safe_line(f"gateway.upstream.{chosen.name}: a dry call of {model} failed{theirs}: {said}", 400)
        )
    used = keeper.call.input + keeper.call.cache_read + keeper.call.output
    return Answered(chosen.name, model, time.monotonic() - begun, used)


def _chosen(contract: Contract, upstreams: tuple[Upstream, ...], spoken: str) -> Upstream:
    """The upstream that calls go to; UsageError where none speaks the worker's language."""
    family = FAMILY[spoken]
    if found := choose(upstreams, family):
        return found
    worker = contract.worker
    speak = "; ".join(f"{one.name} speaks {', '.join(sorted(one.speaks))}" for one in upstreams)
    raise UsageError(
        safe_line(
            f"gateway.upstream: {worker.agent or worker.kind} speaks {family}, and no upstream does ({speak}); "
            f"add one named {family}, or with `speaks: {family}`",
            400,
        )
    )


async def _ask(socket: Path, path: str, body: Mapping[str, Any]) -> tuple[int, str]:
    try:
        async with (
            ClientSession(connector=UnixConnector(str(socket)), timeout=ClientTimeout(total=SECONDS)) as session,
            session.post(f"http://gateway{path}", json=body) as answer,
        ):
            text = await answer.text(errors="replace")
            return answer.status, _message(text)
    except (ClientError, TimeoutError, OSError) as error:
        return 0, str(error) or type(error).__name__


def _message(text: str) -> str:
    try:
        error = json.loads(text).get("error")
        return str(error.get("message") if isinstance(error, dict) else error)
    except (ValueError, AttributeError, RecursionError):
        return text[:200]
