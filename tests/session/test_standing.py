"""What was verified still stands: a broken project is mended first, and a task that is lost again is open again."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import yaml

from harness import Workspace, wait_until
from proctor.journal import events as ev
from proctor.words import Phase, TaskStatus, Verdict

WORKER = """\
import os
from pathlib import Path

brief, out, broken = Path(os.environ["PROCTOR_BRIEF"]).read_text(), Path("out.txt"), Path("broken")
if "## First: repair what is broken" in brief:
    broken.unlink()
elif os.environ["PROCTOR_TASK"] == "2":
    out.write_text("two\\n")
elif "## It was verified before" in brief:
    out.write_text("one\\ntwo\\n")
else:
    out.write_text("one\\n")
    broken.touch()
"""


def test_a_broken_project_is_mended_first_and_a_lost_task_is_open_again(sample: Callable[..., Workspace]) -> None:
    workspace = sample("plateau")
    (workspace.path / "tools" / "worker.py").write_text(WORKER)
    tasks = [
        {"id": n, "task": word, "check": {"run": ["grep", word, "out.txt"]}} for n, word in ((1, "one"), (2, "two"))
    ]
    (workspace.path / "tasks.json").write_text(json.dumps(tasks))
    contract = yaml.safe_load((workspace.path / "proctor.yaml").read_text())
    contract["progress"] = {"smoke": {"run": ["test", "!", "-e", "broken"]}}
    (workspace.path / "proctor.yaml").write_text(yaml.safe_dump(contract))

    code, output = workspace.finish()
    assert code == 0, output

    judged = [e for e in workspace.events("judged") if isinstance(e, ev.Judged)]
    of = {phase: [(e.iteration, e.task, e.verdict) for e in judged if e.phase is phase] for phase in Phase}
    assert of[Phase.WORK] == [(1, 1, Verdict.PASSED), (3, 2, Verdict.PASSED), (4, 1, Verdict.PASSED)]
    assert of[Phase.REPEAT] == [(1, 1, Verdict.PASSED), (2, None, Verdict.PASSED), *of[Phase.WORK][1:]]
    assert of[Phase.SMOKE] == [
        (0, None, Verdict.PASSED),
        (1, None, Verdict.FAILED),
        (2, None, Verdict.PASSED),
        (3, None, Verdict.PASSED),
        (4, None, Verdict.PASSED),
    ]
    assert of[Phase.BASELINE] == [(0, 1, Verdict.FAILED), (2, 2, Verdict.FAILED)], "on a project that works"
    assert of[Phase.REGRESSION] == [(3, 1, Verdict.FAILED), (3, 1, Verdict.FAILED), (4, 2, Verdict.PASSED)]
    started = [e for e in workspace.events("iteration_started") if isinstance(e, ev.IterationStarted)]
    assert [e.repair_only for e in started] == [False, True, False, False]
    (lost,) = (e for e in workspace.events("regressed") if isinstance(e, ev.Regressed))
    assert (lost.task, lost.passed_in, lost.checkpoint) == (1, 1, "c2")
    (notice,) = (e for e in workspace.events("noticed") if isinstance(e, ev.Noticed) and e.why == "regression:1")
    assert "`proctor rollback --to c2`" in notice.text
    state = workspace.state()
    assert state is not None
    assert {task.status for task in state.tasks} == {TaskStatus.DONE}
    assert all(e.act_seconds > 0 for e in judged if e.phase is Phase.WORK)


UNMAKES = """\
import os
from pathlib import Path

made = Path("made")
if os.environ["PROCTOR_TASK"] == "1":
    made.write_text("#!/bin/sh\\n")
    made.chmod(0o755)
else:
    made.unlink(missing_ok=True)
    Path(os.environ["PROCTOR_TASK"]).touch()
"""


@pytest.mark.cases
def test_what_cannot_be_run_again_is_asked_once_and_another_check_is_asked_of_what_was_verified(
    sample: Callable[..., Workspace],
) -> None:
    workspace = sample("plateau")
    (workspace.path / "tools" / "worker.py").write_text(UNMAKES)
    workspace.contract("on_failed: keep", "regression: 0")

    def ask(*checks: tuple[int, list[str]]) -> None:
        tasks = [{"id": n, "task": f"t{n}", "check": {"run": run, "repeat": 0}} for n, run in checks]
        (workspace.path / "tasks.json").write_text(json.dumps(tasks))

    def again() -> list[tuple[object, Verdict]]:
        judged = [e for e in workspace.events("judged") if isinstance(e, ev.Judged)]
        return [(e.task, e.verdict) for e in judged if e.phase is Phase.REGRESSION]

    (workspace.path / "made").write_text("exit 1\n")
    (workspace.path / "made").chmod(0o755)
    ask((1, ["sh", "-c", "./made"]), (2, ["test", "-e", "2"]))
    run = workspace.start()
    wait_until(lambda: run.poll() is not None or ((s := workspace.state()) and s.open_requests), "an end, or a request")
    assert again() == [(1, Verdict.INFRA)]
    workspace.proctor("deny", "--id", "1", check=True)
    run.communicate()

    ask((1, ["test", "-e", "made"]), (2, ["test", "-e", "2"]), (3, ["test", "-e", "3"]))
    _, output = workspace.finish("--once")
    assert again()[1:] == [(1, Verdict.FAILED), (1, Verdict.FAILED), (2, Verdict.PASSED)], output
    assert "it passed last" not in output
    assert len(workspace.events("iteration_started")) == 3, "another worker than the one that was asked for"
