"""What broke whole sessions once: a worker's odd files, large answers, the operator's edits in between."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from harness import Workspace, wait_until
from proctor.words import SessionStatus, TaskStatus

Make = Callable[..., Workspace]
HONEST = """\
import json, os, shutil
from pathlib import Path
Path("counter").write_text("1")
for name in ("PROGRESS.md", "RULES.md"):
    if os.path.lexists(name):
        os.unlink(name)
"""


@pytest.mark.parametrize(
    "deed",
    [
        "os.mkdir('PROGRESS.md'); os.mkfifo('RULES.md'); open(b'bad\\xff\\xfe.txt', 'w').write('x')",
        *(
            pytest.param(deed, marks=pytest.mark.cases)
            for deed in (
                "os.mkdir('PROGRESS.md')",
                "os.mkfifo('RULES.md')",
                "Path('PROGRESS.md').write_bytes(b'\\xff\\xfe')",
                "open(b'bad\\xff\\xfe.txt', 'w').write('x')",
                "os.symlink('/etc/passwd', 'PROGRESS.md')",
                "os.symlink('/etc/passwd', 'PROGRESS.md'); Path('RULES.md').write_bytes(b'\\xff\\xfe')",
            )
        ),
    ],
)
def test_odd_files_of_a_worker_end_no_session(sample: Make, deed: str) -> None:
    workspace = sample("restless")
    for name in ("PROGRESS.md", "RULES.md"):
        (workspace.path / name).unlink()
    (workspace.path / "tools" / "worker.py").write_text(HONEST + deed + "\n")
    code, output = workspace.finish()
    assert code in (0, 3, 4), output
    assert "fault" not in output
    again, output = workspace.finish()
    assert again in (0, 3, 4), output


def test_a_large_answer_arrives_whole(sample: Make) -> None:
    workspace = sample("restless")
    ask = {"proctor": "ask", "id": 1, "tool": "write", "input": {"path": "x", "text": "y" * 300_000}}
    lines = [
        f"print({json.dumps(json.dumps(ask))}, flush=True)",
        "answer = json.loads(open(os.environ['PROCTOR_ANSWERS']).readline())",
        "assert len(answer['input']['text']) == 300_000",
        "print('whole', flush=True)",
    ]
    (workspace.path / "tools" / "worker.py").write_text(HONEST + "\n".join(lines) + "\n")
    code, output = workspace.finish("--yes")
    assert code in (0, 3, 4), output
    stream = next(workspace.path.glob(".proctor/iterations/*/worker.jsonl")).read_text()
    assert '"text":"whole"' in stream


def test_tasks_that_the_operator_adds_after_a_stop_are_taken_in(sample: Make) -> None:
    workspace = sample("csv_tool", pause=0.3)
    workspace.begin("--yes")
    wait_until(lambda: workspace.live("worker").get("alive"), "a worker")
    assert workspace.proctor("stop").returncode == 0
    wait_until(lambda: not workspace.supervisor(), "stopped")
    path = workspace.path / "tasks.json"
    listed = json.loads(path.read_text())
    path.write_text(json.dumps([listed[0], {**listed[1], "id": 77, "task": "mine"}, *listed[1:]], indent=1))
    workspace.begin("--yes")
    wait_until(lambda: (s := workspace.state()) and s.task(77), "the new task")
    assert workspace.proctor("stop").returncode == 0
    wait_until(lambda: (s := workspace.state()) and s.status is SessionStatus.STOPPED, "stopped again")
    assert workspace.events("tampered") == []


def test_a_task_that_used_all_it_had_and_is_verified_stays_verified(sample: Make) -> None:
    workspace = sample("restless")
    checks = ["test -f one", "test -f two"]
    tasks = [{"id": n, "task": f"Task {n}", "check": {"run": check.split()}} for n, check in enumerate(checks, 1)]
    (workspace.path / "tasks.json").write_text(json.dumps(tasks))
    workspace.contract("[python, tools/worker.py]", "[sh, -c, 'if [ -f one ]; then touch two; else touch one; fi']")
    workspace.contract("{limit: 5,  on_exhaustion: park}", "{limit: 5, on_exhaustion: park, per_task: 1}")
    code, output = workspace.finish()
    state = workspace.state()
    assert code == 0, output
    assert state
    assert [task.status for task in state.tasks] == [TaskStatus.DONE] * 2
