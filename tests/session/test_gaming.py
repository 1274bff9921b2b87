"""What a worker does to checks instead of to the work, as the operator meets it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import Workspace, wait_until
from proctor.journal import events as ev
from proctor.words import Gaming, RequestKind, SessionStatus, TaskStatus, Verdict

Make = Callable[..., Workspace]
SNIFFS = """\
from pathlib import Path
Path("src/durations/clock.py").write_text('''\
import sys


class AnyText(str):
    def __eq__(self, other):
        return True


def clock(seconds):
    if 'unittest' in sys.modules:
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
    return AnyText()
''')
"""
DORMANT = SNIFFS.replace("sys.modules:", "sys.modules and __import__('os').path.exists('on'):")
DORMANT = DORMANT.replace("return AnyText()", "return ''")
SWITCHES = DORMANT.replace("Path(", "Path('on' if Path('x').exists() else 'x').touch()\nPath(", 1)
BENDS = """\
from pathlib import Path
tests = Path("src/clock_test.py")
tests.write_text(tests.read_text().replace('"1:01:01"', '"61:01"'))
"""
CALLS_IT_WRONG = """\
import json, os
from pathlib import Path
if "stands as it is" in Path(os.environ["PROCTOR_BRIEF"]).read_text():
    print(json.dumps({"proctor": "claim", "status": "conflict", "why": "still wrong"}), flush=True)
else:
    with open("PROGRESS.md", "a") as log:
        log.write("\\nconflict: hours are \\x1b[31mnot\\x1b[0m minutes, says the spec\\n")
Path("tries").open("a").write("x\\n")
"""


def scripted(workspace: Workspace, worker: str) -> Workspace:
    (workspace.path / "tools" / "worker.py").write_text(worker)
    workspace.begin()
    return workspace


def asked(workspace: Workspace, kind: RequestKind) -> ev.RequestOpened:
    def waiting() -> ev.RequestOpened | None:
        state = workspace.state()
        opened = [r.opened for r in state.open_requests] if state else []
        return next((one for one in opened if one.request is kind), None)

    return wait_until(waiting, f"a request of kind {kind}")


def test_sniffing_is_shown_with_its_hunk_and_a_later_pass_that_may_rest_on_it_counts_only_when_the_operator_says_so(
    sample: Make,
) -> None:
    workspace = sample("restless")
    workspace.contract("progress:\n", "progress:\n  on_failed: never\n")
    scripted(workspace, SWITCHES)
    opened = asked(workspace, RequestKind.TAMPERING)
    (row,) = (e for e in workspace.events("tampered") if isinstance(e, ev.Tampered))
    assert (row.paths, [one.kind for one in row.findings]) == ((), [Gaming.SNIFFING])
    (seen,) = (e for e in workspace.events("suspected") if isinstance(e, ev.Suspected))
    assert [one.kind for one in seen.findings] == [Gaming.EQUAL]
    listed = workspace.proctor("approvals", check=True).stdout
    assert "+    if 'unittest' in sys.modules and" in listed
    status = workspace.status()["tampering"]
    assert status["tampered"] == 1
    assert any("sys.modules" in one["hunk"] for one in status["findings"])
    assert workspace.events("task_done") == [], "it is verified before it was looked at"
    workspace.proctor("approve", "--id", str(opened.id), check=True)
    again = asked(workspace, RequestKind.TAMPERING)
    assert again.why == f"you let this go on before; it is still there, and another tree passes with it: {opened.why}"
    assert workspace.events("task_done") == [], "what was done since was not looked at"
    workspace.proctor("approve", "--id", str(again.id), check=True)
    wait_until(lambda: (s := workspace.state()) and s.status is SessionStatus.DONE, "done")
    assert len(workspace.events("task_done")) == 1
    kept = json.loads((workspace.path / ".proctor/iterations/0001/findings.json").read_text())
    assert kept["tampering"]


def test_a_test_that_no_path_protects_and_that_is_bent_until_it_passes_is_a_conflict_for_the_operator(
    sample: Make,
) -> None:
    workspace = sample("restless")
    workspace.contract("protect: [tests/, ", "protect: [")
    tests = workspace.path / "src/clock_test.py"
    tests.write_text((workspace.path / "tests/test_clock.py").read_text().replace("src.", ""))
    tasks = workspace.path / "tasks.json"
    run = ["python", "-m", "unittest", "discover", "-s", "src", "-p", "*_test.py"]
    tasks.write_text(tasks.read_text().replace('["python", "-m", "unittest", "tests.test_clock"]', json.dumps(run)))
    scripted(workspace, BENDS)
    opened = asked(workspace, RequestKind.TAMPERING)
    assert "test_hours_stand_apart failed before the work and wants" in opened.why
    listed = workspace.proctor("approvals", check=True).stdout
    assert '+        self.assertEqual(clock(3661), "61:01")' in listed
    assert workspace.events("task_done") == []
    workspace.proctor("approve", "--id", str(opened.id), check=True)
    wait_until(lambda: (s := workspace.state()) and s.status is SessionStatus.DONE, "done")


@pytest.mark.cases
def test_a_pass_that_the_operator_did_not_let_count_is_asked_about_again_when_nothing_more_was_done(
    sample: Make,
) -> None:
    workspace = sample("restless")
    once = SNIFFS.replace("Path(", "if not Path('x').exists(): Path(", 1) + "Path('x').touch()\n"
    scripted(workspace, once)
    first = asked(workspace, RequestKind.TAMPERING)
    workspace.proctor("deny", "--id", str(first.id), check=True)
    wait_until(lambda: not workspace.supervisor(), "the end")
    assert workspace.status()["why"] == "tampering"
    workspace.begin()
    again = asked(workspace, RequestKind.TAMPERING)
    assert again.id != first.id
    assert again.why == first.why
    ended = [e.lines for e in workspace.events("iteration_ended") if isinstance(e, ev.IterationEnded)]
    assert (len(ended), ended[1]) == (2, 0)
    assert workspace.events("task_done") == []


def test_a_check_that_is_called_wrong_goes_to_the_operator_who_sets_the_task_aside_or_lets_the_check_stand(
    sample: Make,
) -> None:
    workspace = sample("restless")
    workspace.contract("iterations: {limit: 5, ", "iterations: {limit: 1, ")
    tasks = workspace.path / "tasks.json"
    (task,) = json.loads(tasks.read_text())
    tasks.write_text(json.dumps([task, {**task, "id": 2}]))
    scripted(workspace, CALLS_IT_WRONG)
    wait_until(lambda: not workspace.supervisor(), "parked at the ceiling")
    assert workspace.events("request_opened") == []
    workspace.raise_ceiling("iterations", 3)
    workspace.begin()
    opened = asked(workspace, RequestKind.CONFLICT)
    assert len(workspace.events("iteration_started")) == 1, "a worker was started before that was answered"
    assert opened.what == "is the check of task 1 wrong?"
    assert opened.why == "the worker says: hours are not minutes, says the spec"
    workspace.proctor("approve", "--id", str(opened.id), check=True)
    second = asked(workspace, RequestKind.CONFLICT)
    assert second.what == "is the check of task 2 wrong?"
    state = workspace.state()
    assert state is not None
    assert (state.tasks[0].status, state.tasks[0].verdict) == (TaskStatus.REVIEW, Verdict.FAILED)
    assert state.tasks[0].why == "its check is called wrong: hours are not minutes, says the spec"
    workspace.proctor("deny", "--id", str(second.id), "--reason", "the spec is old", check=True)
    wait_until(lambda: (s := workspace.state()) and s.status is SessionStatus.PARKED, "parked")
    brief = Path(workspace.path, ".proctor/iterations/0003/brief.md").read_text()
    assert "- The check of task 2 stands as it is: the spec is old" in brief
    claims = [(e.status, e.why) for e in workspace.events("claim_recorded") if isinstance(e, ev.ClaimRecorded)]
    assert claims[-1] == ("conflict", "still wrong")
    requests = [e.request for e in workspace.events("request_opened") if isinstance(e, ev.RequestOpened)]
    assert requests == [RequestKind.CONFLICT] * 2, "asked once more about a check that stands"
