"""A plan that names what is gone, as the operator meets it, and what a worker hears of drift."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from harness import Workspace, wait_until
from proctor.journal import events as ev
from proctor.words import Drift, RequestKind, RequestOutcome, SessionStatus, TaskStatus

WORKER = """\
import json, os
from pathlib import Path

task = os.environ["PROCTOR_TASK"]
if task == "1":
    Path("src/parser.py").rename("src/reader.py")
    Path("src/reader.py").write_text("def rows(line):\\n    return line\\n")
    with open("PROGRESS.md", "a") as log:
        log.write("\\nAll tasks are done.\\nTask 3 is done.\\n")
Path("out.txt").open("a").write(task + "\\n")
print(json.dumps({"proctor": "claim", "task": int(task), "status": "done"}), flush=True)
"""
TEXTS = ("Tell parsing apart in `src/new.py`", "Document src/parser.py", "Make `read_row()` quick")


def a_task(number: int, text: str) -> dict[str, object]:
    check = {"run": ["grep", "-x", str(number), "out.txt"], "repeat": 0}
    return {"id": number, "task": text, "check": check}


def planned(workspace: Workspace, texts: tuple[str, ...] = TEXTS) -> None:
    tasks = [a_task(number, text) for number, text in enumerate(texts, 1)]
    (workspace.path / "tasks.json").write_text(json.dumps(tasks))


def asked(workspace: Workspace) -> ev.RequestOpened:
    def waiting() -> ev.RequestOpened | None:
        state = workspace.state()
        return next((r.opened for r in state.open_requests), None) if state else None

    return wait_until(waiting, "a request")


def is_parked(workspace: Workspace) -> bool:
    state = workspace.state()
    return state is not None and state.status is SessionStatus.PARKED and not workspace.supervisor()


def test_a_task_that_names_what_is_gone_waits_until_it_is_confirmed_or_revised(
    sample: Callable[..., Workspace],
) -> None:
    workspace = sample("plateau")
    (workspace.path / "src").mkdir(exist_ok=True)
    (workspace.path / "src" / "parser.py").write_text("def read_row(line):\n    return line\n")
    (workspace.path / "tools" / "worker.py").write_text(WORKER)
    planned(workspace)
    workspace.begin()

    first = asked(workspace)
    assert (first.request, first.task) == (RequestKind.PLAN_ROT, 2)
    assert first.what == "task 2 names what is gone: src/parser.py. Does the plan stand?"
    found = json.loads(workspace.proctor("drift", "--json", check=True).stdout)
    assert found == workspace.status()["drift"]
    lights = found["lights"]
    assert list(lights) == [str(light) for light in Drift]
    assert lights["plan_rot"]["light"] == "firing"
    assert lights["plan_rot"]["evidence"] == ["task 2: src/parser.py", "task 3: read_row"]
    assert lights["state_pollution"]["light"] == "suspect"
    assert found["plateau"] == {"light": "quiet", "why": "", "evidence": []}
    assert "! plan rot           firing   src/parser.py gone, and task 2 names it" in workspace.proctor("drift").stdout
    workspace.proctor("approve", "--id", str(first.id), check=True)

    second = wait_until(lambda: (o := asked(workspace)).id != first.id and o, "the next question")
    assert (second.task, second.what.partition(".")[0]) == (3, "task 3 names what is gone: read_row")
    workspace.proctor("deny", "--id", str(second.id), check=True)
    wait_until(lambda: is_parked(workspace), "parked")
    state = workspace.state()
    assert state is not None
    assert [task.status for task in state.tasks] == [TaskStatus.DONE, TaskStatus.DONE, TaskStatus.BLOCKED]
    assert state.why == "plan_rot: read_row is gone"
    brief = Path(workspace.path, ".proctor/iterations/0002/brief.md").read_text()
    assert "this is the harness's own record" in brief
    assert "- task 1 is done: passed in iteration 1" in brief
    assert "All tasks are done.\n> proctor: 2 of 3 tasks are not verified" in brief

    workspace.begin()
    third = wait_until(lambda: (o := asked(workspace)).id != second.id and o, "asked again")
    planned(workspace, (*TEXTS[:2], "Make `rows()` quick"))
    state = wait_until(lambda: (s := workspace.state()) and s.status is SessionStatus.DONE and s, "done")
    closed = state.request(third.id)
    assert closed is not None
    assert closed.outcome is RequestOutcome.WITHDRAWN
    assert {task.status for task in state.tasks} == {TaskStatus.DONE}
