"""A thousand mixed calls: what a worker asks, and what the scripted server answers to each."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, dataclass
from typing import Any

from models.script import Cut, ErrorEvent, Fault, Refuse, Slow, Tokens, Tool, Turn, View

MODELS = {
    "messages": ("claude-sonnet-4-5", "claude-haiku-4-5"),
    "responses": ("gpt-5", "gpt-5-mini"),
    "chat": ("gpt-4o-mini", "gpt-5-mini"),
    "gemini": ("gemini-2.5-flash", "gemini-2.5-pro"),
}
LONG = {"messages": "claude-sonnet-4-5", "responses": "gpt-5.5", "gemini": "gemini-2.5-pro"}
"""Models that cost more beyond some number of tokens."""
KINDS = {
    "plain": 36,
    "tools": 16,
    "cached": 14,
    "sub-agent": 8,
    "cut": 7,
    "duplicate": 5,
    "repeat": 5,
    "every": 2,
    "unreported": 2,
    "left": 2,
    "long": 1,
    "slow": 1,
    "retried": 0.5,
}
WORDS = (  # noqa: SIM905
    "the work of this part is to read each line and then say what it holds so that we can go on with one more step "
    "before we write down all that was found in the file and look at how it should be done when there is more time"
).split()
"""Common words: each is one token to every tokenizer, so that a count of words is a count of tokens."""
PAD = "@"
CUTS = (Cut("text"), Cut("start"), Cut("usage"), Cut("stop"), ErrorEvent("text"))
RETRIED = (Refuse(500), Refuse(503), Cut("headers"), Refuse(529), Refuse(429, "0"))


@dataclass(frozen=True, slots=True)
class Asked:
    """One call as the worker makes it: `times` with the same body; it hangs up early if `leaves`. `PAD` in the body is
    replaced by as many words as `pad` says."""

    n: int
    kind: str
    path: str
    body: str
    headers: dict[str, str]
    times: int = 1
    leaves: bool = False
    pad: int = 0


def mixed(count: int, seed: int) -> list[Asked]:
    chance = random.Random(seed)
    kinds = chance.choices(list(KINDS), list(KINDS.values()), k=count)
    return [_asked(n, kind, chance) for n, kind in enumerate(kinds)]


def as_json(calls: list[Asked]) -> str:
    return json.dumps([asdict(call) for call in calls])


def _asked(n: int, kind: str, chance: random.Random) -> Asked:
    api = chance.choice([*LONG] if kind == "long" else [*MODELS])
    model = LONG[api] if kind == "long" else chance.choice(MODELS[api])
    stream = kind in ("cut", "slow", "left", "every") or chance.random() < 0.7
    size = chance.randrange(60, 400)
    pad = 4 * chance.randrange(40_000, 80_000) if kind == "long" else 0
    marker = {"n": n, "kind": kind, "seed": chance.getrandbits(32), "prefix": size + pad}
    text = f"{json.dumps(marker)}\n" + " ".join(chance.choices(WORDS, k=size)) + PAD * bool(pad)
    headers = {"content-type": "application/json"}
    if kind == "sub-agent":
        headers["x-claude-code-agent-id"] = f"agent-{n % 3}"
    path, body = _request(api, model, stream, text)
    return Asked(n, kind, path, json.dumps(body), headers, 1 + (kind in ("duplicate", "repeat")), kind == "left", pad)


def _request(api: str, model: str, stream: bool, text: str) -> tuple[str, dict[str, Any]]:
    said = [{"role": "user", "content": text}]
    match api:
        case "messages":
            return "/v1/messages", {"model": model, "messages": said, "stream": stream, "max_tokens": 2000}
        case "responses":
            return "/v1/responses", {"model": model, "input": text, "stream": stream, "max_output_tokens": 2000}
        case "chat":
            return "/v1/chat/completions", {"model": model, "messages": said, "stream": stream, "max_tokens": 2000}
    body = {"contents": [{"role": "user", "parts": [{"text": text}]}], "generationConfig": {"maxOutputTokens": 2000}}
    return f"/v1beta/models/{model}:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}", body


def script(view: View) -> Turn:
    """The answer to a call, made from what the call says of itself."""
    marker = json.loads(view.prompt.partition("\n")[0])
    chance = random.Random(marker["seed"])
    kind, prefix = marker["kind"], marker["prefix"]
    words = chance.randrange(20, 200)
    calls = chance.randrange(1, 4) if kind == "tools" else 0
    made = tuple(Tool("shell", {"command": " ".join(chance.choices(WORDS, k=20))}) for _ in range(calls))
    tokens = Tokens(prefix, words + 22 * calls)
    if kind == "cached":
        read = prefix // 2
        five, hour = (prefix // 5, prefix // 8) if view.api == "messages" else (0, 0)
        reasoning = 0 if view.api == "messages" else words // 3
        tokens = Tokens(prefix - read - five - hour, tokens.output, read, five, hour, reasoning)
    if kind == "long":
        hour = 40_000 if view.api == "messages" else 0
        tokens = Tokens(prefix - 30_000 - hour, tokens.output, 30_000, write_1h=hour)
    return Turn(
        " ".join(chance.choices(WORDS, k=words)),
        made,
        tokens=tokens,
        usage={"unreported": "none", "every": "every"}.get(kind, "once"),  # type: ignore[arg-type]
        faults=_faults(kind, marker["n"]),
        id=f"same{marker['n']:08}" if kind == "duplicate" else "",
    )


def _faults(kind: str, n: int) -> tuple[Fault | None, ...]:
    match kind:
        case "cut":
            return (CUTS[n % len(CUTS)],)
        case "retried":
            return (RETRIED[n % len(RETRIED)],)
        case "slow":
            return (Slow(40),)
    return ()


WORKER = r"""
import http.client, json, os, re, sys, threading

SAID = re.compile(rb'"(?:id|responseId)": ?"((?:msg_|resp_|chatcmpl-|gem-|same)\w+)"')
calls = json.load(open("calls.json"))
done = os.open("done.log", os.O_CREAT | os.O_APPEND | os.O_RDWR)
before = {tuple(map(int, line.split()[:2])) for line in os.read(done, 1 << 24).decode().splitlines()}
lock = threading.Lock()

def ask(call, connection):
    body = call["body"].replace("@", " the work of this" * (call["pad"] // 4))
    connection.request("POST", call["path"], body, call["headers"])
    answer = connection.getresponse()
    try:
        text = answer.read(300) if call["leaves"] else answer.read()
        ended = "left" if call["leaves"] else "whole"
    except (http.client.IncompleteRead, ConnectionError) as error:
        text, ended = getattr(error, "partial", b""), "cut"
    if answer.status != 200:
        print("status", answer.status, text[:300], flush=True)
    if ended != "whole":
        connection.close()
    said = SAID.search(text)
    return ended, said[1].decode() if said else "-"

def work():
    connection = http.client.HTTPConnection("127.0.0.1", 8377, timeout=60)
    while True:
        with lock:
            if not calls:
                return
            call = calls.pop(0)
        for time in range(call["times"]):
            if (call["n"], time) in before:
                continue
            ended, message = ask(call, connection)
            os.write(done, f"{call['n']} {time} {ended} {message}\n".encode())

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
