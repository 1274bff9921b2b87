"""What the gateway adds to a model call, beside no gateway at all and beside LiteLLM's proxy with its own budgets on.

One scripted provider, one load generator, the gateway and the proxy are processes of their own, on loopback. The
gateway writes its durable rows, two a call. Paced: requests are begun at a fixed rate, to a model that answers after
20 ms, in windows that take turns; what is added is the difference within a round, and figures are medians over rounds.
Saturated: 20 connections that each ask again at once, of a model that does not wait. Memory: what is resident after
10,000 calls beside what was after the first 1,000. LiteLLM comes with the `bench` extra; without it its figures are
absent, and nothing can be asserted of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from typing import Any

from common import Bar, median, parser, report

HERE = Path(__file__).parent
DIRECT, GATEWAY, LITELLM = "direct", "gateway", "LiteLLM"
SIZES = {"2 kB": 2_000, "100 kB": 100_000, "1 MB": 1_000_000}
RATES = {"2 kB": 100, "100 kB": 100, "1 MB": 10}
"""Requests a second in a paced window. LiteLLM gets a tenth: it could not keep up with more."""
WINDOW = 2.0
"""Seconds."""
SATURATED = {"2 kB": 2_000, "100 kB": 500, "1 MB": 60}
"""Calls in a saturated window. LiteLLM gets a tenth."""
CONNECTIONS = 20
FIRST_CALLS, CALLS = 1_000, 10_000
MEMORY = "resident after 10,000 calls, to after 1,000"
BARS = (
    *(Bar(f"{size}: added at p{p}, ms", most) for size in ("2 kB", "100 kB") for p, most in ((50, 2.0), (95, 5.0))),
    Bar("2 kB: LiteLLM's calls a second, to the gateway's", 0.1),
    Bar(MEMORY, 1.1),
)
LITELLM_CONFIG = """\
model_list:
{models}
router_settings:
  provider_budget_config: {{openai: {{budget_limit: 1000000, time_period: 1d}}}}
litellm_settings: {{telemetry: false, max_budget: 1000000, budget_duration: 30d}}
"""
LITELLM_MODEL = """\
- model_name: wait-{ms}
  litellm_params:
    model: openai/wait-{ms}
    api_base: {base}/v1
    api_key: sk-the-real-key
    max_budget: 1000000
    budget_duration: 30d
    input_cost_per_token: 0.00000015
    output_cost_per_token: 0.0000006
"""


class Process:
    """A child that answers each line with a line."""

    def __init__(self, *command: str) -> None:
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self) -> str:
        assert self._child.stdout
        line = self._child.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._child.args!r} ended")
        return line

    def ask(self, question: object) -> Any:
        assert self._child.stdin
        self._child.stdin.write(json.dumps(question) + "\n")
        self._child.stdin.flush()
        return json.loads(self.read())

    def close(self) -> None:
        with self._child:
            self._child.terminate()


class Bench:
    """All the processes, and what was measured with them."""

    def __init__(self, folder: Path, held: contextlib.ExitStack) -> None:
        self._held = held
        self._chance = random.Random(1)
        provider = self._start("provider.py")
        base = f"http://127.0.0.1:{int(provider.read())}"
        self._gateway = self._start("gated.py", str(folder / "state"), base)
        self._load = self._start("load.py")
        self.ports = {DIRECT: int(base.rsplit(":", 1)[1]), GATEWAY: int(self._gateway.read())}
        if port := self._litellm(folder, base):
            self.ports[LITELLM] = port
        self._calls = 0

    def _start(self, *words: str) -> Process:
        made = Process(sys.executable, str(HERE / words[0]), *words[1:])
        self._held.callback(made.close)
        return made

    def _litellm(self, folder: Path, base: str) -> int | None:
        program = shutil.which("litellm", path=str(Path(sys.executable).parent))
        if program is None:
            return None
        config = folder / "litellm.yaml"
        models = "".join(LITELLM_MODEL.format(ms=ms, base=base) for ms in (0, 20))
        config.write_text(LITELLM_CONFIG.format(models=models))
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = int(free.getsockname()[1])
        env = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR"}
        command = (program, "--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--num_workers", "1")
        with (folder / "litellm.log").open("w") as log:
            child = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._held.callback(child.wait)
        self._held.callback(child.terminate)
        for _ in range(600):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=5).close()
                return port
            time.sleep(0.2)
        raise RuntimeError((folder / "litellm.log").read_text()[-2_000:])

    def run(self, to: str, size: str, calls: int, rate: float | None = None) -> dict[str, Any]:
        """A window. The model waits where the load is paced."""
        model = "wait-20" if rate else "wait-0"
        connections = 4 * CONNECTIONS if rate else CONNECTIONS
        work = {"port": self.ports[to], "model": model, "size": SIZES[size], "connections": connections, "calls": calls}
        found = self._load.ask({**work, "rate": rate} if rate else work)
        if to == GATEWAY:
            self._calls += calls
        return dict(found)

    def order(self) -> list[str]:
        return self._chance.sample(list(self.ports), len(self.ports))

    def paced(self, size: str, rounds: int) -> Iterator[tuple[str, float]]:
        """Added milliseconds to the first event, at p50 and p95."""
        added: dict[tuple[str, int], list[float]] = {}
        for _ in range(rounds):
            cuts: dict[str, list[float]] = {}
            for to in self.order():
                rate = RATES[size] / (10 if to == LITELLM else 1)
                found = self.run(to, size, max(10, round(rate * WINDOW)), rate)
                cuts[to] = quantiles(found["times"], n=20, method="inclusive")
            for to in cuts:
                for p in (50, 95):
                    added.setdefault((to, p), []).append(cuts[to][p // 5 - 1] - cuts[DIRECT][p // 5 - 1])
        for (to, p), values in sorted(added.items()):
            if to != DIRECT:
                yield f"{size}: {'' if to == GATEWAY else f'{to}, '}added at p{p}, ms", median(values)

    def saturated(self, size: str, rounds: int) -> Iterator[tuple[str, float]]:
        """Calls a second, and LiteLLM's part of the gateway's within a round."""
        each: dict[str, list[float]] = {}
        for _ in range(rounds):
            for to in self.order():
                calls = max(CONNECTIONS, SATURATED[size] // (10 if to == LITELLM else 1))
                each.setdefault(to, []).append(calls / self.run(to, size, calls)["seconds"])
        for to, values in each.items():
            yield f"{size}: {to}, calls a second", median(values)
        if LITELLM in each:
            ratios = [a / b for a, b in zip(each[LITELLM], each[GATEWAY], strict=True)]
            yield f"{size}: LiteLLM's calls a second, to the gateway's", median(ratios)

    def memory(self) -> Iterator[tuple[str, float]]:
        """What the gateway's process holds, over many calls; and that each left its two rows."""
        self.run(GATEWAY, "2 kB", FIRST_CALLS)
        before = self._gateway.ask("")
        while self._calls < before["settled"] + CALLS - FIRST_CALLS:
            self.run(GATEWAY, "2 kB", 1_000)
        after = self._gateway.ask("")
        if not after["asked"] == after["settled"] == self._calls:
            raise AssertionError(f"{self._calls} calls left these rows: {after}")
        yield MEMORY, after["resident"] / before["resident"]
        yield "resident, MB", after["resident"] / 1e6


def main() -> int:
    words = parser(__doc__)
    words.set_defaults(rounds=7)
    given = words.parse_args()
    figures: dict[str, float | None] = {}
    with tempfile.TemporaryDirectory(prefix="gateway-") as folder, contextlib.ExitStack() as held:
        bench = Bench(Path(folder), held)
        for to in bench.ports:
            bench.run(to, "2 kB", 50)
        for size in SIZES:
            figures |= bench.paced(size, given.rounds)
        for size in SIZES:
            figures |= bench.saturated(size, (given.rounds + 1) // 2)
        figures |= bench.memory()
    bars = tuple(bar for bar in BARS if bar.figure in figures)
    if given.check and len(bars) < len(BARS):
        print("LiteLLM is not here: pip install 'proctor[bench]'", file=sys.stderr)
        return 1
    return report(given, figures, bars)


if __name__ == "__main__":
    sys.exit(main())
