"""Two processes answer the same requests: each request has one winner, and every loser is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import Workspace, wait_until
from proctor.journal import events as ev
from proctor.supervisor.client import Client
from proctor.words import RequestOutcome, SessionStatus

WORKER = """\
import json, os
with open(os.environ["PROCTOR_ANSWERS"]) as answers:
    for n in range(1, {count} + 1):
        question = {{"proctor": "ask", "id": n, "tool": "shell", "input": {{"command": f"step {{n}}"}}}}
        print(json.dumps(question), flush=True)
        answer = json.loads(answers.readline())
        assert answer["id"] == str(n), answer
open("src/done.txt", "w").write("done")
"""
RIVAL = """\
import json, sys, time
from pathlib import Path
from proctor.supervisor.client import Client
workspace, verb, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
told = {}
with Client(workspace) as client:
    for number in range(1, count + 1):
        while client.state().request(number) is None:
            time.sleep(0.002)
        order = client.order(verb, id=number)
        answer = client.wait_for(order, 60)
        told[number] = answer.outcome if answer else None
print(json.dumps(told))
"""


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.cases)])
def test_each_request_has_one_winner(sample: Callable[..., Workspace], count: int) -> None:
    workspace = sample("restless")
    (workspace.path / "tools" / "worker.py").write_text(WORKER.format(count=count))
    workspace.begin()
    wait_until(lambda: workspace.state() and workspace.supervisor(), "a supervisor")
    rivals = [
        subprocess.Popen(
            [sys.executable, "-c", RIVAL, str(workspace.path), verb, str(count)], stdout=subprocess.PIPE, text=True
        )
        for verb in ("approve", "deny")
    ]
    told = [json.loads(rival.communicate(timeout=300)[0]) for rival in rivals]
    for number in map(str, range(1, count + 1)):
        assert sorted(one[number] for one in told) == ["done", "lost"], number
    closed = [e for e in workspace.events("request_closed") if isinstance(e, ev.RequestClosed)]
    assert Counter(e.id for e in closed) == Counter(range(1, count + 1))
    granted = sum(e.outcome is RequestOutcome.GRANTED for e in closed)
    assert granted == sum(outcome == "done" for outcome in told[0].values())
    assert Path(workspace.path, ".proctor", "inbox").is_dir()
    wait_until(lambda: (s := workspace.state()) and s.status is not SessionStatus.ASKING, "no question left")


CHANGED = """\
import json, os
def ask(n, line):
    print(json.dumps({"proctor": "ask", "id": n, "tool": "shell", "input": {"command": line}}), flush=True)
    return json.loads(answers.readline())
with open(os.environ["PROCTOR_ANSWERS"]) as answers:
    open("src/told.txt", "w").write(json.dumps([ask(1, "make all"), ask(2, "rm -rf /"), ask(3, "rm -rf /")]))
    ask(4, "rm -rf /")
open("src/done.txt", "w").write("done")
"""


def test_a_changed_input_and_a_third_try_are_the_operators_and_a_kept_answer_outlives_the_worker(
    sample: Callable[..., Workspace],
) -> None:
    workspace = sample("restless")
    (workspace.path / "tools" / "worker.py").write_text(CHANGED)
    workspace.contract("  expire: never", '  deny: ["shell(rm -rf /*)"]\n  expire: never')
    workspace.begin()
    wait_until(lambda: (s := workspace.state()) and s.open_requests, "the first question")
    nonsense = workspace.proctor("approve", "--id", "1", "--input", "[1]")
    assert nonsense.returncode == 2
    assert len(nonsense.stderr.splitlines()) == 1
    granted = workspace.proctor("approve", "--id", "1", "--input", '{"command": "make one"}')
    assert granted.stdout == "request 1 granted with another input\n"
    wait_until(lambda: (s := workspace.state()) and s.request(4), "a third try that waits")
    told = json.loads((workspace.path / "src" / "told.txt").read_text())
    assert [one["decision"] for one in told] == ["allow", "deny", "deny"]
    assert told[0]["input"] == {"command": "make one"}
    listed = workspace.proctor("approvals")
    assert "#4  shell rm -rf /  denied 2 times already; it is asked again" in listed.stdout
    state = workspace.state()
    assert state is not None
    answers = [e for e in workspace.events("request_closed") if isinstance(e, ev.RequestClosed)]
    assert answers[0].input == {"command": "make one"}

    # The supervisor dies while it waits; the answer is taken in by the next one, and kept for the next worker.
    pid = workspace.supervisor()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not workspace.processes(), "nothing alive")
    with Client(workspace.path) as client:
        client.order("approve", id=4, reason="once")
    workspace.begin()
    wait_until(lambda: (s := workspace.state()) and any(r.opened.iteration > 1 for r in s.requests), "asked anew")
    state = workspace.state()
    assert state is not None
    assert (state.requests[3].outcome, state.requests[3].told) == (RequestOutcome.GRANTED, False)
    late = workspace.proctor("deny", "--id", "4")
    assert late.returncode == 1
    assert "request 4 was already granted by" in late.stderr
    wait_until(lambda: (s := workspace.state()) and s.open_requests, "the first question, asked anew")
    number = workspace.state().open_requests[0].id  # type: ignore[union-attr]
    with Client(workspace.path) as client:
        client.order("approve", id=number)
    wait_until(
        lambda: (s := workspace.state()) and [r for r in s.requests if r.by == "answer to request 4"], "the kept answer"
    )


LIMITED = """\
import json, os
def ask(n):
    return json.dumps({"proctor": "ask", "id": n, "tool": "shell", "input": {"command": f"make {n}"}}) + "\\n"
tool = json.dumps({"proctor": "tool", "name": "x"}) + "\\n"
with open(os.environ["PROCTOR_ANSWERS"]) as answers:
    print(ask(1), end="", flush=True)
    answers.readline()
    open("src/going.txt", "w").write("on")
    print(ask(2) + tool * 50, end="", flush=True)
    answers.readline()
open("src/done.txt", "w").write("done")
"""


def test_a_question_outlasts_a_pause_and_is_withdrawn_at_a_ceiling_and_asked_again(
    sample: Callable[..., Workspace],
) -> None:
    workspace = sample("restless")
    (workspace.path / "tools" / "worker.py").write_text(LIMITED)
    workspace.contract("budget:", "budget:\n  tool_calls: {limit: 10, on_exhaustion: escalate}")
    workspace.begin()

    def order(verb: str, **args: object) -> str:
        with Client(workspace.path) as client:
            answer = client.wait_for(client.order(verb, **args), 60)
        assert answer is not None
        return f"{answer.outcome}: {answer.detail}"

    def asked(after: int = 0, what: str = "make") -> int:
        state = workspace.state()
        found = state.open_requests if state else ()
        return next((one.id for one in found if one.id > after and what in one.opened.what), 0)

    first = wait_until(asked, "the first question")
    order("pause")
    state = workspace.state()
    assert state is not None
    assert state.status is SessionStatus.ASKING
    order("approve", id=first)
    wait_until(lambda: (s := workspace.state()) and s.status is SessionStatus.PAUSED, "still paused")
    wait_until(lambda: workspace.live("worker").get("frozen"), "still frozen")
    assert not (workspace.path / "src" / "going.txt").exists()
    order("resume")

    # The next question comes with more tool calls than the ceiling has room for.
    extension = wait_until(lambda: asked(first, "tool calls"), "the ceiling's question")
    state = workspace.state()
    assert state is not None
    second = next(one for one in state.requests if one.opened.what == "shell make 2")
    assert (second.outcome, second.id < extension) == (RequestOutcome.WITHDRAWN, True)
    assert order("approve", id=second.id).startswith(f"lost: request {second.id} was already withdrawn")
    order("extend", dimension="tool_calls", by=1_000)
    again = wait_until(lambda: asked(extension), "the first question, asked anew")
    order("approve", id=again)
    last = wait_until(lambda: asked(again), "the second question, asked anew")
    order("approve", id=last)
    wait_until((workspace.path / "src" / "done.txt").exists, "the worker's end")
