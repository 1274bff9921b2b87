"""Two processes answer the same requests: each request has one winner, and every loser is told."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import Workspace, wait_until
from proctor.journal import events as ev
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
    workspace.start()
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
