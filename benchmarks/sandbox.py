"""Starting, freezing and ending a sandbox, beside what does less and beside others that do the same.

`true` is started and waited for in turns: bare; in a minimal bubblewrap, with the same binary; by a supervisor's
launch call, with everything a worker gets; by the command line; and by `codex sandbox` and `srt`, where these are
found on PATH or below `--peers DIR`. The launch call is also timed alone: it returns when the command is walled in
and released. Ratios are medians of the ratios within a turn. Then twelve processes, some of which left their session,
are frozen and ended.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from common import Bar, median, parser, report

from proctor.repository import layout, session
from proctor.sandbox import kill
from proctor.sandbox.bwrap import Bubblewrap
from proctor.sandbox.choose import bubblewrap
from proctor.sandbox.policy import Policy

MINIMAL = ("--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true")
TWELVE = "for i in 1 2 3 4 5; do sleep 100 & setsid sleep 100 & done; echo up; wait"
"""Ten sleepers below a shell; with the sandbox's first process, twelve."""
QUIET = subprocess.DEVNULL
SETTINGS = {
    "network": {"allowedDomains": [], "deniedDomains": []},
    "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []},
}
"""The least that srt takes."""

CONTRACT = """\
goal: true is true
worker: {kind: command, command: ["true"]}
state: {protect: [tests/], hide: [secrets/]}
budget: {iterations: {limit: 1, on_exhaustion: park}}
progress: {checks: [{run: ["true"]}]}
"""

Work = Callable[[], object]


def timed(work: Work) -> float:
    """Milliseconds."""
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


@contextlib.contextmanager
def project() -> Iterator[Policy]:
    """A small git workspace under a contract, and the policy of a worker in it."""
    with tempfile.TemporaryDirectory() as name:
        workspace, door = Path(name, "project"), Path(name, "door")
        for file in ("tests/check.py", "secrets/key", "src/app.py", "PLAN.md", ".gitignore"):
            path = workspace / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(".proctor/\n")
        (workspace / "proctor.yaml").write_text(CONTRACT)
        who = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
        for words in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "--message", "Begin"]):
            subprocess.run(["git", *words], cwd=workspace, check=True)
        (workspace / ".proctor").mkdir()
        door.mkdir()
        repository = session.prepare(layout.find(workspace), workspace / ".proctor" / "session.git")
        protect = ("tests/", "proctor.yaml")
        yield Policy(workspace, protect=protect, hide=("secrets/",), repository=repository, door=door, listen=True)


def starter(words: Sequence[str | Path], workspace: Path, environment: dict[str, str] | None = None) -> Work:
    def start() -> None:
        process = subprocess.Popen(words, cwd=workspace, env=environment, stdin=QUIET, stdout=QUIET, stderr=QUIET)
        if process.wait():
            raise subprocess.CalledProcessError(process.returncode, list(map(str, words)))

    return start


def peers(given: argparse.Namespace, workspace: Path) -> dict[str, Work | None]:
    """The others, each with how it runs `true`; None for one that is not installed, or does not run here."""
    prefix = [given.peers, given.peers / "bin", given.peers / "node_modules/.bin"] if given.peers else []
    path = os.pathsep.join([*map(str, prefix), os.environ.get("PATH", os.defpath)])
    home = workspace.with_name("home")
    home.mkdir()
    settings = home / "settings.json"
    settings.write_text(json.dumps(SETTINGS))
    environment = {**os.environ, "PATH": path, "HOME": str(home)}
    orders = {"codex": ("sandbox", "--", "true"), "srt": ("--settings", settings, "true")}
    found: dict[str, Work | None] = {}
    for name, words in orders.items():
        program = shutil.which(name, path=path)
        found[name] = starter((program, *words), workspace, environment) if program else None
        try:
            if work := found[name]:
                work()
        except subprocess.CalledProcessError:
            print(f"{name} is installed and does not run here: run `{name} {words[0]} …` by hand", file=sys.stderr)
            found[name] = None
    return found


def starts(given: argparse.Namespace, backend: Bubblewrap, policy: Policy) -> dict[str, float | None]:
    workspace = policy.workspace
    calls: list[float] = []

    def launch() -> None:
        begun = time.perf_counter()
        with backend.launch(["true"], policy) as running:
            calls.append((time.perf_counter() - begun) * 1000)
            if running.wait(20).code != 0:
                raise RuntimeError("`true` failed inside")

    ours = [sys.executable, "-m", "proctor", "sandbox", workspace, "--", "true"]
    turns: dict[str, Work | None] = {
        "bare": starter(["true"], workspace),
        "minimal bwrap": starter([backend.binary, *MINIMAL], workspace),
        "a launch, to the end": launch,
        "proctor sandbox": starter(ours, workspace),
        **peers(given, workspace),
    }
    there = {name: work for name, work in turns.items() if work}
    for work in there.values():
        work()
    calls.clear()
    rows = [{name: timed(work) for name, work in there.items()} for _ in range(given.rounds)]
    figures = {f"{name}, ms": median(row[name] for row in rows) if work else None for name, work in turns.items()}
    figures["the launch call, ms"] = median(calls)
    figures[LAUNCH] = median(call / row["minimal bwrap"] for call, row in zip(calls, rows, strict=True))
    figures[WHOLE] = median(row["a launch, to the end"] / row["minimal bwrap"] for row in rows)
    for name in ("codex", "srt"):
        ratio = median(row["proctor sandbox"] / row[name] for row in rows) if name in there else None
        figures[f"proctor sandbox / {name}"] = ratio
    return figures


def ends(given: argparse.Namespace, backend: Bubblewrap, policy: Policy) -> dict[str, float | None]:
    """From the decision to the point at which nothing is left, which is looked for."""
    took: dict[str, list[float]] = {"freeze, ms": [], FROZEN: [], RUNNING: []}
    for number in range(2 * given.rounds):
        with backend.launch(["sh", "-c", TWELVE], policy, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            running.stdout.readline()
            everything = [running.pid, running.init_pid, *running.members()]
            if frozen := number % 2:
                took["freeze, ms"].append(timed(running.freeze))
            took[FROZEN if frozen else RUNNING].append(timed(running.kill))
            if len(everything) < 12 or any((entry := kill.entry(pid)) and entry.alive for pid in everything):
                raise RuntimeError(f"of {len(everything)} processes some are left")
    return {name: median(values) for name, values in took.items()}


LAUNCH = "the launch call / minimal bwrap"
WHOLE = "a launch, to the end / minimal bwrap"
FROZEN = "from decision to dead, frozen, ms"
RUNNING = "from decision to dead, running, ms"


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--peers", type=Path, help="a folder with the others, as `npm install --prefix` makes it")
    given = options.parse_args()
    backend = bubblewrap()
    with project() as policy:
        figures = starts(given, backend, policy) | ends(given, backend, policy)
    return report(given, figures, (Bar(LAUNCH, 2), Bar(FROZEN, 100), Bar(RUNNING, 100)))


if __name__ == "__main__":
    sys.exit(main())
