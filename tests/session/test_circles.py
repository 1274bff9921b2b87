"""A worker in circles: its iteration ends and counts, and its session ends by the rules over iterations alone."""

from __future__ import annotations

import json
from collections.abc import Callable

from harness import Workspace
from proctor.journal import events as ev
from proctor.words import IterationEnd, Light, LoopRule, Rule

IN_CIRCLES = """\
import json, os, signal, sys
sys.stdin.read()
print(os.getpid(), file=open("noise.log", "a"))
call = {"proctor": "tool", "name": "read", "input": {"path": "src/a.py"}}
for line in (call, {"proctor": "result", "ok": True, "output": "x"}) * 4:
    print(json.dumps(line), flush=True)
signal.pause()
"""


def test_circles_end_the_iteration_and_iterations_that_do_nothing_end_the_session(
    sample: Callable[..., Workspace],
) -> None:
    workspace = sample("plateau")
    (workspace.path / "tools" / "worker.py").write_text(IN_CIRCLES)
    with (workspace.path / ".gitignore").open("a") as ignored:
        ignored.write("*.log\n")
    code, output = workspace.finish()
    assert code == 4, output
    ended = [e for e in workspace.events("iteration_ended") if isinstance(e, ev.IterationEnded)]
    assert [e.how for e in ended] == [IterationEnd.LOOPING] * 2
    assert ended[0].detail.startswith("same_call: 4 times the same call")
    seen = [e for e in workspace.events("loop_seen") if isinstance(e, ev.LoopSeen)]
    assert [(e.iteration, e.rule, e.light) for e in seen] == [(n, LoopRule.SAME_CALL, Light.FIRING) for n in (1, 2)]
    judged = [e for e in workspace.events("judged") if isinstance(e, ev.Judged)]
    assert [e.iteration for e in judged] == [0, 1, 2]
    brief = (workspace.path / ".proctor" / "iterations" / "0002" / "brief.md").read_text()
    assert "## Do not go round in circles" in brief
    (fired,) = (e for e in workspace.events("plateau_fired") if isinstance(e, ev.PlateauFired))
    assert (fired.rule, fired.why) == (Rule.NO_OP, "no_op fires by itself")
    plateau = json.loads(workspace.proctor("status", "--json").stdout)["plateau"]
    assert (plateau["state"], plateau["rule"]) == ("firing", "no_op")
    assert plateau["evidence"] == list(fired.evidence)
