"""Records trajectories: each scene is a workspace with a scripted worker and real checks, run by `proctor run`.

python tests/trajectories/record.py first            all scenes of the first half, into tests/trajectories/first
python tests/trajectories/record.py first --only steady     those whose names hold a word
python tests/trajectories/record.py second --into DIR --seed 7

All plateau rules are off while a run is recorded, so that what comes after a would-be alarm is on record as well.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness import Workspace
from proctor.journal.store import NoJournal
from proctor.supervisor.client import Client
from trajectories.export import export
from trajectories.form import Header, Trajectory, write
from trajectories.making import Scene, Steps
from trajectories.scenes import scenes

HERE = Path(__file__).parent
SEEDS = {"first": 20, "second": 61}
OFF = dict.fromkeys(
    (
        *("no_change", "shrinking", "same_failure", "revisit", "no_op", "stalled"),
        *("same_call", "same_error", "cycle", "same_denial"),
    ),
    0,
)
COUNTER = "turns"
"""Where a worker within walls counts its turns: in no checkpoint, so that it is no change."""
PATIENCE = 300.0
"""Seconds after which a run that does not end is given up."""


def contract(scene: Scene, plateau: dict[str, Any], upstream: str | None) -> dict[str, Any]:
    """The contract of a scene."""
    program = next((HERE / "workers").glob(f"{scene.worker}.*")).name
    said: dict[str, Any] = {
        "goal": scene.about,
        "worker": {
            "kind": "command",
            "command": ["sh" if program.endswith(".sh") else "python", f"tools/{program}"],
            "model": "claude-sonnet-4-5",
        },
        "state": {"protect": ["tests/", "tools/"], "commits": "none", "checkpoint": {"exclude": [COUNTER]}},
        "budget": {"iterations": {"limit": scene.most, "on_exhaustion": "park"}, **scene.budget},
        "progress": {"on_failed": "never", **scene.progress, "plateau": {**plateau, "on_plateau": "park"}},
        "approvals": {"allow": ["read(*)", "edit(*)", "search(*)"], **scene.approvals},
        "sandbox": {"kind": scene.sandbox},
        "notify": [],
    }
    if scene.termination:
        said["termination"] = scene.termination
    if upstream:
        said["gateway"] = {"upstream": {"anthropic": {"base_url": upstream, "key": "env:TRAJECTORY_KEY"}}}
    return said


def lay_out(scene: Scene, workspace: Path, plateau: dict[str, Any], upstream: str | None) -> None:
    """Write the workspace of a scene."""
    program = next((HERE / "workers").glob(f"{scene.worker}.*"))
    asks = any(step[0] == "ask" for steps in scene.iterations for step in steps)
    counter = COUNTER if scene.sandbox == "bwrap" else str(workspace.with_name("turns"))
    script = {"counter": counter, "asks": asks, "iterations": scene.iterations, **scene.script}
    files = {
        **scene.files,
        f"tools/{program.name}": program.read_text(),
        **({"tools/counter": counter, **in_shell(scene.iterations)} if program.suffix == ".sh" else {}),
        "tools/script.json": json.dumps(script),
        "tasks.json": json.dumps(scene.tasks, indent=1),
        "PLAN.md": f"# {scene.about}\n",
        "proctor.yaml": yaml.safe_dump(contract(scene, plateau, upstream)),
    }
    for name, text in files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if scene.setup:
        subprocess.run(["sh", "-ec", scene.setup], cwd=workspace, check=True, capture_output=True)


def in_shell(iterations: list[Steps]) -> dict[str, str]:
    """The turns of a worker in plain shell: the same steps as commands, and what they write as files beside them."""
    files: dict[str, str] = {}
    for number, steps in enumerate(iterations):
        lines: list[str] = []
        for at, (kind, *of) in enumerate(steps):
            match kind:
                case "read" | "search":
                    lines.append(_told(kind, {"path": of[0]}, "ls" if kind == "search" else "cat", of[0]))
                case "edit":
                    files[f"tools/turns/{number}-{at}.txt"] = of[1]
                    lines.append(_told("write", {"path": of[0]}, "cp", f"tools/turns/{number}-{at}.txt", of[0]))
                case "shell":
                    lines.append(_told("shell", {"command": of[0]}, "sh", "-c", of[0]))
                case "use":
                    lines.append(_said(f'"usage", "input": {of[0]}, "output": {of[1]}'))
                case "note":
                    lines.append(f"echo {shlex.quote(of[0])}")
                case "wait":
                    lines.append(f"sleep {of[0]}")
                case "claim":
                    lines.append(_said(f'"claim", "status": "{of[0]}"'))
                case "exit":
                    lines.append(f"exit {of[0]}")
        files[f"tools/turns/{number}.sh"] = "\n".join(lines) + "\n"
    return {**files, "tools/turns/last.sh": files[f"tools/turns/{len(iterations) - 1}.sh"]} if iterations else files


def _said(fields: str) -> str:
    return shlex.join(["say", fields])


def _told(tool: str, given: dict[str, str], *command: str) -> str:
    return shlex.join(["tool", tool, json.dumps(given), *command])


def record(scene: Scene, seed: int, plateau: dict[str, Any] | None = None) -> Trajectory:
    """Run a scene and say what there was of it. With other windows than none, it ends where a rule fires."""
    with tempfile.TemporaryDirectory(prefix="trajectory-") as folder, provider(scene.answers) as upstream:
        workspace = Path(folder, "work")
        lay_out(scene, workspace, OFF if plateau is None else plateau, upstream)
        run(workspace)
        header = Header(
            label=scene.label,
            name=scene.name,
            shape=scene.shape,
            about=scene.about,
            stuck_from=scene.stuck_from,
            seed=seed,
        )
        return export(workspace, header)


def run(workspace: Path) -> int:
    """`proctor run` to its end; whatever it asks the operator is denied."""
    environment = {**os.environ, "TRAJECTORY_KEY": "none"}
    environment.pop("PYTHONUNBUFFERED", None)
    log = workspace.with_name("log")
    with log.open("wb") as out:
        command = [sys.executable, "-m", "proctor", "run", str(workspace), "--headless"]
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)
        deadline = time.monotonic() + PATIENCE
        answered: set[int] = set()
        while (code := child.poll()) is None:
            if time.monotonic() > deadline:
                child.kill()
                Workspace(workspace).settle()
                raise TimeoutError(f"{workspace}: {log.read_text()[-2000:]}")
            deny(workspace, answered)
            time.sleep(0.1)
    if code not in (0, 3, 4):
        raise RuntimeError(f"exit {code}: {log.read_text()[-2000:]}")
    return code


def deny(workspace: Path, answered: set[int]) -> None:
    """Say no to what waits."""
    try:
        with Client(workspace) as client:
            for request in client.state().open_requests:
                if request.id not in answered:
                    answered.add(request.id)
                    client.order("deny", id=request.id, reason="not from here")
    except NoJournal:
        return


@contextmanager
def provider(statuses: list[int] | None) -> Iterator[str | None]:
    """A model that answers with these statuses."""
    if statuses is None:
        yield None
        return
    left = list(statuses)

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            status = left.pop(0) if len(left) > 1 else left[0]
            text = [{"type": "text", "text": "Go on."}]
            good = {"id": f"m{time.monotonic_ns()}", "type": "message", "role": "assistant", "content": text}
            good |= {"model": "claude-sonnet-4-5", "usage": {"input_tokens": 900, "output_tokens": 60}}
            body = json.dumps(good if status == 200 else {"type": "error", "error": {"type": "api_error"}}).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("half", choices=("first", "second"))
    arguments.add_argument("--only", nargs="+", default=[], metavar="WORD", help="scenes whose names hold one of these")
    arguments.add_argument("--into", type=Path)
    arguments.add_argument("--seed", type=int)
    given = arguments.parse_args()
    into = given.into or HERE / given.half
    into.mkdir(parents=True, exist_ok=True)
    seed = SEEDS[given.half] if given.seed is None else given.seed
    for scene in scenes(given.half, seed):
        if given.only and not any(word in scene.name for word in given.only):
            continue
        begun = time.monotonic()
        found = record(scene, seed)
        write(into / f"{scene.name}.jsonl", found)
        ends = " ".join(_mark(one) for one in found.iterations)
        print(f"{scene.name:34} {scene.label:8} {time.monotonic() - begun:6.1f} s  {ends}", flush=True)


def _mark(one: Any) -> str:
    work = [v for v in one.verdicts if v.phase == "work"]
    said = f"{work[-1].verdict}:{work[-1].failures}" if work else "-"
    return f"{one.task}{'*' if one.verified else ''}/{said}/{one.lines}{'!' if one.hindered else ''}"


if __name__ == "__main__":
    main()
