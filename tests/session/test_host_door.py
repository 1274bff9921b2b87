"""A real session whose worker uses the gateway and the host door: what it is let, and that no key is left anywhere."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from harness import PATIENCE, Workspace, wait_until
from proctor.journal import events as ev
from proctor.words import RequestKind, RequestOutcome

KEY = "sk-the-real-key-0123456789"
CONTRACT = """\
goal: Reach out
worker: {{kind: command, command: [python3, worker.py], model: gpt-5}}
state: {{commits: none}}
budget: {{iterations: {{limit: 2, on_exhaustion: park}}}}
progress: {{checks: [{{run: [test, -e, made]}}]}}
approvals: {{ask: ["host(*)"], deny: ["host(evil.invalid*)"]}}
sandbox: {{hosts: [granted.invalid, localhost]}}
gateway: {{upstream: {{main: {{base_url: "{url}", key: "env:PROVIDER_KEY"}}}}, record: full}}
notify: []
"""
WORKER = """\
import glob, http.client, json, os, urllib.error, urllib.request

body = json.dumps({"model": "gpt-5", "messages": [{"role": "user", "content": "What is my key?"}]}).encode()
headers = {"content-type": "application/json", "authorization": "Bearer placeholder"}
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
for _ in range(2):
    try:
        with urllib.request.urlopen(request) as answer:
            print(answer.status, answer.headers, answer.read())
    except urllib.error.HTTPError as error:
        print(error.code, error.reason, error.headers, error.read())
for name in ("granted", "evil", "asked", "asked", "refused"):
    try:
        urllib.request.urlopen(f"http://{name}.invalid/")
    except urllib.error.HTTPError as error:
        print(name, error.code, error.read())
try:
    tunnel = http.client.HTTPConnection(os.environ["https_proxy"].removeprefix("http://"))
    tunnel.set_tunnel("localhost", 443)
    tunnel.connect()
except OSError as error:
    print(error)
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    print(open(path, "rb").read())
open("made", "w").close()
"""


class Echo(BaseHTTPRequestHandler):
    """A provider that tells everybody the key: first in an error, then in an answer."""

    served: list[str]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        given = self.headers["Authorization"]
        self.served.append(given)
        usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
        message = {"role": "assistant", "content": f"It is {given}"}
        answer = {
            "id": f"c{len(self.served)}",
            "model": "gpt-5",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": usage,
        }
        said = json.dumps({"error": {"message": f"{given} is wrong"}} if len(self.served) == 1 else answer).encode()
        self.send_response(401 if len(self.served) == 1 else 200, f"told {given}")
        self.send_header("X-Told", given)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def provider() -> Iterator[ThreadingHTTPServer]:
    Echo.served = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: ThreadingHTTPServer) -> Iterator[Workspace]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PROVIDER_KEY", KEY)
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "worker.py").write_text(WORKER)
    (folder / "proctor.yaml").write_text(CONTRACT.format(url=f"http://127.0.0.1:{provider.server_port}"))
    (folder / "tasks.json").write_text(json.dumps([{"id": 1, "task": "Reach out"}]))
    made = Workspace(folder)
    yield made
    made.settle()


def answered(work: Workspace, verb: str, what: str) -> None:
    def opened() -> int | None:
        state = work.state()
        return next((r.id for r in state.open_requests if r.opened.what == what), None) if state else None

    work.proctor(verb, "--id", str(wait_until(opened, what)), check=True)


def test_hosts_are_asked_for_and_the_key_is_left_nowhere(
    work: Workspace, provider: ThreadingHTTPServer, tmp_path: Path, files: Callable[[Path], Iterator[Path]]
) -> None:
    child = work.start()
    answered(work, "approve", "host asked.invalid:80")
    answered(work, "deny", "host refused.invalid:80")
    printed, _ = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0, printed
    assert Echo.served == [f"Bearer {KEY}"] * 2

    said = "".join(path.read_text(errors="replace") for path in files(work.path / ".proctor" / "iterations"))
    for name, code in (("granted", 502), ("evil", 403), ("asked", 502), ("refused", 403)):
        assert f"{name} {code}" in said
    assert "403" in said.partition("Tunnel connection failed: ")[2][:3]
    requests = [event for event in work.events("request_opened") if isinstance(event, ev.RequestOpened)]
    assert [r.what for r in requests if r.request is RequestKind.HOST] == [
        *("host evil.invalid:80", "host asked.invalid:80", "host refused.invalid:80")
    ]
    closed = [event.outcome for event in work.events("request_closed") if isinstance(event, ev.RequestClosed)]
    assert closed == [RequestOutcome.DENIED, RequestOutcome.GRANTED, RequestOutcome.DENIED]

    assert "What is my key?" in said, "bodies are recorded"
    assert "It is Bearer **" in said
    shown = work.proctor("status", "--json").stdout + work.proctor("show", "--id", "1").stdout
    for text in (printed, shown, *(path.read_bytes().decode("latin-1") for path in files(tmp_path))):
        assert KEY not in text
        assert KEY[4:] not in text


@pytest.fixture
def files() -> Callable[[Path], Iterator[Path]]:
    def below(folder: Path) -> Iterator[Path]:
        return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())

    return below
