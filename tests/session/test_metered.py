"""A worker of no known kind that asks models through the gateway: its costs, its end, and what a crash leaves."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import Workspace, wait_until
from models.script import Cut, Refuse, Script, Stall, Tokens, Turn, View
from models.server import Models
from models.truth import micro
from proctor.journal import events as ev
from proctor.words import CallEnd, Dimension, IterationEnd, Source

WORKER = """\
import json, os, sys, urllib.error, urllib.request

CALLS, KIND = int(sys.argv[1]), sys.argv[2]
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
model = os.environ["PROCTOR_MODEL"]
for number in range(CALLS):
    messages = [{"role": "user", "content": f"step {number}"}]
    body = json.dumps({"model": model, "max_tokens": 2000, "stream": True, "messages": messages}).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json", "x-api-key": "x"})
    try:
        with urllib.request.urlopen(request) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())
        sys.exit(0)
    except OSError as error:
        print(error)
    print("x" * 4000)
with open("made", "w") as file:
    file.write(KIND)
"""
CONTRACT = """\
goal: Ask a model
worker: {{kind: command, command: [python3, worker.py, "{calls}", made], model: claude-sonnet-4-5{cheaper}}}
state: {{commits: none}}
budget: {{{budget}}}
progress: {{checks: [{{run: [test, -e, made]}}]}}
gateway: {{upstream: {{anthropic: {{base_url: "{url}"}}}}{gateway}}}
notify: []
"""
EACH = Tokens(input=100, output=50, cache_read=1000, write_5m=10, write_1h=20)

Made = Callable[..., Workspace]


@pytest.fixture
def asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    """Makes a workspace whose worker asks a model so many times."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made: list[Workspace] = []

    def make(url: str, calls: int, budget: str, cheaper: str = "", gateway: str = "") -> Workspace:
        work = tmp_path / "work"
        work.mkdir()
        (work / "worker.py").write_text(WORKER)
        (work / "proctor.yaml").write_text(
            CONTRACT.format(calls=calls, budget=budget, url=url, cheaper=cheaper, gateway=gateway)
        )
        (work / "tasks.json").write_text(json.dumps([{"id": 1, "task": "Ask"}]))
        made.append(Workspace(work))
        return made[-1]

    yield make
    for workspace in made:
        workspace.settle()


def saying(turn: Turn) -> Script:
    return lambda _: turn


def calls(workspace: Workspace) -> list[ev.ModelCall]:
    return [event for event in workspace.events("model_call") if isinstance(event, ev.ModelCall)]


def ends(workspace: Workspace) -> list[tuple[IterationEnd, str]]:
    found = workspace.events("iteration_ended")
    return [(event.how, event.detail) for event in found if isinstance(event, ev.IterationEnded)]


def test_what_a_worker_asks_is_metered_to_the_token_and_the_micro_dollar(asking: Made) -> None:
    with Models(saying(Turn("Yes.", tokens=EACH))) as models:
        work = asking(models.url, 3, "tokens: {limit: 1M, on_exhaustion: park}, cost: {limit: $1, on_exhaustion: park}")
        done = work.proctor("run", "--headless")
        assert done.returncode == 0, done.stdout
        status = work.status()
    assert len(models.calls()) == 3
    price = micro("claude-sonnet-4-5", EACH) or 0
    assert status["budget"]["tokens"] == {"used": 3 * 1180, "limit": 1_000_000, "level": "ok", "source": "measured"}
    assert status["budget"]["cost"]["used"] == 3 * price
    assert status["budget"]["prefix_tokens"]["used"] == 3 * 1130
    billed, trajectory = status["calls"]["billed"], status["calls"]["trajectory"]
    assert billed == trajectory
    assert (billed["calls"], billed["cost"], billed["cache_write_1h"], billed["estimated"]) == (3, 3 * price, 60, 0)
    assert status["calls"]["in_flight"] == 0


def test_at_the_hard_ceiling_nothing_more_is_admitted_and_the_budget_is_the_reason(asking: Made) -> None:
    with Models(saying(Turn("Yes.", tokens=EACH))) as models:
        work = asking(models.url, 50, "tokens: {limit: 10000, on_exhaustion: park}")
        done = work.proctor("run", "--headless")
        status = work.status()
    assert done.returncode == 3, done.stdout
    assert status["why"] == "budget:tokens"
    assert status["budget"]["tokens"]["used"] == 1180 * len(models.calls()) <= 10_000
    (end,) = ends(work)
    assert end == (IterationEnd.BUDGET, "tokens")
    refused = [call for call in calls(work) if call.end is CallEnd.REFUSED]
    assert len(refused) == 1
    assert "budget used up" in refused[0].why
    lowered = [call for call in calls(work) if any("output: at most" in change for change in call.changed)]
    assert lowered, "what a call may generate is lowered before calls are refused"


def test_inside_the_reserve_only_the_cheaper_model_is_asked(asking: Made) -> None:
    each = Tokens(input=50, output=2000)
    with Models(saying(Turn("Yes.", tokens=each))) as models:
        work = asking(
            models.url,
            60,
            "cost: {limit: $0.2, on_exhaustion: degrade, reserve: 40%}",
            ", cheaper: {model: claude-haiku-4-5}",
        )
        done = work.proctor("run", "--headless")
        status = work.status()
    assert done.returncode == 3, done.stdout
    assert status["why"] == "budget:cost"
    asked = [row.model for row in models.calls()]
    dear, cheap = asked.count("claude-sonnet-4-5"), asked.count("claude-haiku-4-5")
    assert asked == ["claude-sonnet-4-5"] * dear + ["claude-haiku-4-5"] * cheap
    # The scripted model says what it says, also where its limit was lowered: the last call may be too long.
    assert (dear - 1) * (micro("claude-sonnet-4-5", each) or 0) <= 200_000
    assert cheap > 0
    changed = [call for call in calls(work) if call.changed and call.end is CallEnd.ANSWERED]
    assert changed[-1].changed[0] == "model: claude-sonnet-4-5 to claude-haiku-4-5"
    assert status["budget"]["cost"]["used"] <= 280_000 + (micro("claude-haiku-4-5", each) or 0)


def test_d1_a_model_without_a_price_parks_where_cost_is_capped_and_0_is_free(asking: Made) -> None:
    with Models(saying(Turn("Yes.", tokens=EACH))) as models:
        work = asking(models.url, 2, "cost: {limit: $1, on_exhaustion: park}")
        work.contract("model: claude-sonnet-4-5", "model: my-own")
        done = work.proctor("run", "--headless")
        assert (done.returncode, work.status()["why"]) == (3, "unpriced"), done.stdout
        assert models.calls() == []
        work.contract('"}}', '"}}, prices: {my-own: 0}')
        assert work.proctor("run", "--headless").returncode == 0
    assert work.status()["budget"]["cost"]["used"] == 0


@pytest.mark.cases
def test_d5_a_call_that_is_asked_again_is_billed_twice_and_told_once(asking: Made) -> None:
    turn = Turn("Yes, at length. " * 40, tokens=EACH, faults=(Cut("text"),))

    def script(view: View) -> Turn:
        return turn

    with Models(script) as models:
        work = asking(models.url, 3, "tokens: {limit: 1M, on_exhaustion: park}")
        assert work.proctor("run", "--headless").returncode == 0
        billed, trajectory = (work.status()["calls"][part] for part in ("billed", "trajectory"))
    cut = [call for call in calls(work) if call.end is CallEnd.CUT]
    assert len(cut) == billed["calls"] - trajectory["calls"] > 0
    assert all(call.source is Source.ESTIMATED and call.input > 0 for call in cut)
    assert work.status()["budget"]["tokens"]["source"] == "estimated"


def test_e1_a_provider_s_limit_is_waited_for_and_the_worker_never_notices(asking: Made) -> None:
    turn = Turn("Yes.", tokens=EACH, faults=(Refuse(429, retry_after="1"),))
    with Models(saying(turn)) as models:
        work = asking(models.url, 1, "tokens: {limit: 1M, on_exhaustion: park}")
        assert work.proctor("run", "--headless").returncode == 0
    (call,) = calls(work)
    assert (call.end, call.retries, call.source) == (CallEnd.ANSWERED, 1, Source.MEASURED)
    assert len(models.calls()) == 2


def test_f1_a_call_in_flight_at_a_crash_is_settled_from_its_reservation_and_none_is_lost(asking: Made) -> None:
    def script(view: View) -> Turn:
        faults: tuple[Any, ...] = (Stall("crash", "text"),) if "step 2" in view.prompt else ()
        return Turn("Yes.", tokens=EACH, faults=faults)

    with Models(script) as models:
        work = asking(
            models.url, 3, "tokens: {limit: 1M, on_exhaustion: park}, iterations: {limit: 2, on_exhaustion: park}"
        )
        work.begin()
        models.wait(lambda rows: len(rows) == 3)
        wait_until(lambda: len(work.events("model_asked")) == 3)
        pid = work.supervisor()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: work.supervisor() is None)
        before = {call.call for call in calls(work)}
        models.release("crash")
        assert work.proctor("run", "--headless").returncode == 0
        state = work.state()
    assert len(before) == 2
    assert before < {call.call for call in calls(work)}
    (lost,) = (call for call in calls(work) if call.end is CallEnd.LOST)
    assert (lost.source, lost.output) == (Source.ESTIMATED, 2000)
    assert state is not None
    assert state.calling == {}
    measured = sum(1180 for call in calls(work) if call.end is CallEnd.ANSWERED)
    assert state.used[Dimension.TOKENS].used == measured + lost.input + lost.output
    assert state.used[Dimension.TOKENS].source is Source.ESTIMATED


def test_d11_a_subscription_is_shown_by_list_price_and_counts_against_no_ceiling(asking: Made) -> None:
    with Models(saying(Turn("Yes.", tokens=EACH))) as models:
        work = asking(models.url, 3, "cost: {limit: $0.001, on_exhaustion: park}")
        work.contract(f'base_url: "{models.url}"', f'base_url: "{models.url}", billing: subscription')
        assert work.proctor("run", "--headless").returncode == 0
    status = work.status()
    price = 3 * (micro("claude-sonnet-4-5", EACH) or 0)
    assert (status["calls"]["billed"]["cost"], status["calls"]["billed"]["notional"]) == (price, price)
    assert status["budget"]["cost"]["used"] == 0
