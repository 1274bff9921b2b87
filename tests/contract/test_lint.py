from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from proctor.approvals import requests
from proctor.contract.lint import MANY_FILES, TOOLS, Explanation, Facts, explain
from proctor.contract.load import load
from proctor.contract.starter import init

from .conftest import SMALLEST

Write = Callable[[str | bytes], Path]
Explained = Callable[..., Explanation]

WHOLE = """\
goal: Port the billing service
worker: {kind: command, command: [sh, agent], model: large, cheaper: {model: small}}
state: {protect: [tests/], hide: [secrets/]}
budget:
  wall_clock: {limit: 4h, on_exhaustion: park, per_task: 1h}
  cost: {limit: $20, on_exhaustion: degrade, reserve: 10%}
  tool_calls: {limit: 3000, on_exhaustion: escalate}
  bytes_written: {limit: 200M, on_exhaustion: stop}
progress: {checks: [{run: [sh, -c, "exit 0"]}, {run: [ls], optional: true}]}
termination: {final: {run: [ls, -l], timeout: 90s, expect: ok}}
"""
OFF = (
    "progress: {plateau: {no_change: 0, shrinking: 0, same_failure: 0, revisit: 0, no_op: 0, stalled: 0, "
    "same_call: 0, same_error: 0, cycle: 0, same_denial: 0}}"
)
TASKS = [{"id": n, "task": f"task {n}"} for n in (1, 2, 3)]


@pytest.fixture
def explained(write: Write, tmp_path: Path) -> Explained:
    def explained(text: str = WHOLE, tasks: object = TASKS, facts: Facts | None = None) -> Explanation:
        (tmp_path / "tasks.json").write_text(json.dumps(tasks))
        for folder in ("tests", "secrets"):
            (tmp_path / folder).mkdir(exist_ok=True)
        return explain(load(write(text)), tmp_path, facts)

    return explained


def test_a_whole_contract_answers_all_four_and_warns_of_nothing(explained: Explained) -> None:
    told = explained()
    assert [answer.question.split()[0] for answer in told.answers] == ["What", "What", "What", "Who"]
    assert told.unanswered == ()
    assert told.warnings == ()
    assert all(line.isprintable() for line in told.lines())


def test_each_ceiling_says_what_happens_at_50_70_and_100(explained: Explained) -> None:
    told = explained()
    assert told.ceilings == (
        "wall_clock: 4h, at most 1h a task. A notice at 50 % (2h), sparing from 70 % (2h48m); "
        "at 100 % nothing more is admitted and the session is parked, "
        "to be resumed after an extension.",
        "cost: $20.00. A notice at 50 % ($10.00), sparing from 70 % ($14.00); "
        "at 100 % only small goes on, up to $22.00, and then the session is parked.",
        "tool_calls: 3k. A notice at 50 % (1.5k), sparing from 70 % (2.1k); "
        "at 100 % nothing more is admitted, "
        "the worker is ended and you are asked for an extension.",
        "bytes_written: 200M. A notice at 50 % (100M), sparing from 70 % (140M); "
        "at 100 % nothing more is admitted and the session is stopped.",
    )
    text = str(told)
    assert "Sparing, while any of them is at 70 % or more: the next brief asks for less, optional checks are" in text
    assert "Counted and not limited: elapsed, tokens" in text


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("", ["where there is one"]),
        ("state: {commits: session-branch}", ["a branch of your git repository."]),
        ("state: {commits: none}", []),
        ("sandbox: {kind: weak}", []),
    ],
)
def test_it_says_whether_there_will_be_commits(explained: Explained, more: str, told: list[str]) -> None:
    lines = [line for line in explained(f"{SMALLEST}{more}\n").lines() if "proctor/SESSION" in line]
    assert len(lines) == len(told)
    assert all(words in line for line, words in zip(lines, told, strict=True))


def test_it_says_what_survives_what_proves_and_who_decides(explained: Explained) -> None:
    text = str(explained())
    assert "Survives: the files of the workspace; the task list tasks.json" in text
    assert "Ephemeral: the worker's context" in text
    assert "A checkpoint holds every file up to 64M with" in text
    assert "Read-only to the worker: tests." in text
    assert "Hidden from the worker: secrets." in text
    assert "For tasks that name no check: `sh -c 'exit 0'` within 5m." in text
    again = str(explained(WHOLE.replace('0"]}', '0"], repeat: 2}, {artifact: a.js, repeat: 0}')))
    assert "`sh -c 'exit 0'` within 5m (and again 2 times)." in again
    assert "For tasks that name no check: a.js is there and not empty; not repeated." in again
    assert "Reported only: `ls`" in text
    assert "What the worker says is a claim." in text
    assert "proctor, never the worker: it is over when every task holds a passed verdict, and then `ls -l`" in text
    assert "within 1m30s (its output holds 'ok') passes on a clean checkout" in text


def test_it_says_what_checkpoints_keep_by_the_contract(explained: Explained) -> None:
    keys = "{include: [dist/], exclude: ['*.csv'], max_file: 5G}"
    text = str(explained(WHOLE.replace("hide: [secrets/]", f"hide: [secrets/], checkpoint: {keys}")))
    assert "A checkpoint holds every file up to 5G with" in text
    assert "Kept although git ignores it: dist/." in text
    assert "In no checkpoint, and left alone by a rollback: *.csv." in text


def test_what_init_writes_is_not_taken_for_an_answer(tmp_path: Path) -> None:
    init(tmp_path)
    told = explain(load(tmp_path), tmp_path)
    assert [line.split(": ")[1] for line in told.unanswered] == ["goal", "progress.checks[0].run", "state.tasks"]
    lines = (tmp_path / "proctor.yaml").read_text().splitlines()
    places = [re.match(r"proctor\.yaml:(\d+): (?:[^ ]*\.)?(\w+): ", line) for line in told.unanswered]
    assert [place and place[2] in lines[int(place[1]) - 1] for place in places[:2]] == [True, True]


def test_without_a_task_nobody_can_say_when_it_is_over(explained: Explained, tmp_path: Path) -> None:
    assert explained(tasks=[]).unanswered[0].startswith("proctor.yaml:3: state.tasks: there is no task")
    assert explained(tasks={"tasks": TASKS}).unanswered == ()
    assert "cannot be read" in explained(tasks=3).unanswered[0]
    (tmp_path / "tasks.json").unlink()
    (tmp_path / "PLAN.md").write_text("- [ ] one\n- [ ] two\n")
    assert explain(load(tmp_path), tmp_path).unanswered == ()


@pytest.mark.parametrize("worker", ["{kind: claude}", "{kind: acp, agent: qwen}", "{kind: command, agent: mini}"])
def test_an_agent_that_is_known_needs_an_upstream(explained: Explained, worker: str) -> None:
    asked = re.sub(r"worker: .*", f"worker: {worker}", WHOLE.replace("degrade, reserve: 10%", "park"))
    (line,) = explained(asked).unanswered
    assert line.startswith("proctor.yaml: gateway.upstream: where is the model? ")
    example = yaml.safe_load(line.partition("e.g. ")[2])
    assert explained(asked + yaml.safe_dump(example)).unanswered == ()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("approvals: {allow: ['read(*)', 'x(*)'], deny: ['x(*)']}",
         "proctor.yaml:11: approvals.allow[1]: x(*) says nothing here: the same stands where it weighs more"),
        ("approvals: {ask: 'shel(git push *)'}",
         "proctor.yaml:11: approvals.ask: no agent has a tool shel; nearest: shell"),
        ("approvals: {allow: ['mcp__files__look(*)', 'Bash(*)', 'sh?ll(*)', '*(*)']}", ""),
    ],
)  # fmt: skip
def test_what_is_set_and_changes_nothing_is_told(explained: Explained, more: str, said: str) -> None:
    assert "\n".join(explained(f"{WHOLE}{more}\n").warnings) == said


def test_the_tools_that_are_known_are_those_that_approvals_judge() -> None:
    assert {requests.SHELL, requests.READ, requests.WRITE, requests.FETCH, requests.HOST} <= set(TOOLS)


def test_hosts_without_walls_and_a_model_that_is_never_used_are_told(explained: Explained) -> None:
    told = explained(f"{WHOLE}sandbox: {{kind: none, hosts: [a.example]}}\n".replace("degrade, reserve: 10%", "park"))
    assert told.warnings[1:] == (
        "proctor.yaml:11: sandbox.hosts: without a sandbox every host can be reached, so naming some says nothing",
        "proctor.yaml:2: worker.cheaper: is never used: no ceiling says degrade, and budget.at_soft no cheaper_model",
    )


def test_a_broken_task_list_is_told_with_its_lines_and_not_as_a_missing_one(
    explained: Explained, tmp_path: Path
) -> None:
    fault = "tasks.json:1: not JSON: expecting value"
    told = explained(facts=Facts(faults=(fault,)))
    assert told.unanswered == (fault,)
    (tmp_path / "tasks.json").write_text("[{]")
    load(tmp_path)
    assert explain(load(tmp_path), tmp_path, Facts(faults=(fault,))).unanswered == (fault,)


def test_one_short_task_is_no_job_for_this(explained: Explained, tmp_path: Path) -> None:
    (tmp_path / "1.md").write_text("short")
    task = {"id": 1, "task": "x", "spec": "1.md"}
    assert "fits one context" in explained(tasks=[task]).warnings[0]
    (tmp_path / "1.md").write_text("long " * 2_000)
    assert explained(tasks=[task]).warnings == ()


@pytest.mark.parametrize(
    ("facts", "warning"),
    [
        (Facts(check_seconds=90, act_seconds=20), "the check costs more than the work (90 s a task against 20 s)"),
        (Facts(unstable=2), "the check is unstable (2 verdicts did not repeat)"),
        (Facts(oscillations=3), "fix the evaluator first"),
        (Facts(unpriced=(("larg", "large"),)), "no price is known of larg; nearest: large: its calls will be refused"),
        (Facts(ungated=("shell(git push)",)), "neither keyed nor asked about would go ahead unasked: shell(git push)"),
    ],
)
def test_facts_of_other_rooms_become_warnings(explained: Explained, facts: Facts, warning: str) -> None:
    (line,) = explained(facts=facts).warnings
    assert warning in line
    assert explained(facts=Facts(check_seconds=5, act_seconds=20)).warnings == ()


def test_what_may_change_without_bound_or_undo_is_warned_of(explained: Explained, tmp_path: Path) -> None:
    (line,) = explained(WHOLE.replace("  bytes_written: {limit: 200M, on_exhaustion: stop}\n", "")).warnings
    assert "no ceiling bounds how much may change" in line
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("data/\nlink\n")
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("/usr")
    assert explained().warnings == ()
    for n in range(MANY_FILES):
        (tmp_path / "data" / "deep" / str(n)).touch()
    (line,) = explained().warnings
    assert "cannot be undone" in line
    assert "data/" in line


def test_a_protected_link_to_what_is_not_protected_is_told(explained: Explained, tmp_path: Path) -> None:
    (tmp_path / "suite").symlink_to("secrets")
    (tmp_path / "fixtures").symlink_to("tests")
    (line,) = explained(WHOLE.replace("[tests/]", "[tests/, suite, fixtures]")).warnings
    assert (
        line == "proctor.yaml:3: state.protect[1]: suite is a link to secrets, which is not protected: only the link is"
    )


def test_what_is_named_and_not_there_is_told(explained: Explained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    told = explained(
        WHOLE.replace("[sh, agent]", "[./agent, run.py]")
        .replace("[tests/]", "[tests/, fixtures/]")
        .replace("hide: [secrets/]", "hide: [secrets/], environment: {tools: no-such-tool}")
        .replace('[sh, -c, "exit 0"]', "[python3, gone.py]")
        + "gateway: {upstream: {a: {base_url: 'https://a.example', key: env:NO_SUCH_KEY}}}\n"
    )
    assert told.warnings == (
        "proctor.yaml:3: state.protect[1]: fixtures is not there, so nothing of it is guarded",
        "proctor.yaml:3: state.environment.tools: no-such-tool is not on PATH",
        "proctor.yaml:2: worker.command: ./agent is not there",
        "proctor.yaml:2: worker.command: run.py is not there, so it cannot run",
        "proctor.yaml:9: progress.checks[0].run: gone.py is not there, so it cannot run",
        "proctor.yaml:11: gateway.upstream.a.key: NO_SUCH_KEY is not set in your environment",
    )


def test_loose_ends_of_a_smallest_contract_are_told(explained: Explained) -> None:
    told = explained(
        SMALLEST.replace("iterations: {limit: 40", "tokens: {limit: 2M").replace("[python, agent.py]", "[sh]")
        .replace("progress: {checks: [{run: [pytest, -q]}]}", OFF)
        + "sandbox: {kind: none}\n",
        tasks=[{"id": 1, "task": "a", "check": {"run": ["ls"]}}, {"id": 2, "task": "b"}],
    )  # fmt: skip
    text = "\n".join(told.warnings)
    for part in (
        "no sandbox",
        "1 of 2 tasks have no check",
        "no ceiling on time",
        "every plateau rule is off",
        "no rule inside an iteration is on",
        "nothing is protected",
    ):
        assert part in text
    assert told.unanswered == ()


@pytest.mark.parametrize(
    ("files", "check", "says"),
    [
        (["m/m.go", "m/m_test.go"], "[go, test, ./...]", "m/m_test.go, which"),
        (["Cargo.toml", "tests/t.rs"], "[cargo, test]", ""),
        (["Cargo.toml", "sub/Cargo.toml", "sub/tests/t.rs"], "[cargo, test]", "sub/tests/t.rs, which"),
        (["calc.py", "calc_test.py", "conftest.py"], "[pytest, -q]", "calc_test.py, which"),
        (["src/a.test.js", "src/a.js", "test/b.mjs"], "[npm, test]", "src/a.test.js, test/b.mjs, which"),
        ([f"test_{n}.py" for n in range(5)], "[ls]", "test_0.py, test_1.py, test_2.py and 2 more, which"),
        (["test_a.py", "node_modules/x/a.test.js"], "[pytest, 'test_a.py::test_x']", ""),
        (["tests/test_a.py", "secrets/test_b.py", "latest.py", "contest.js"], "[ls]", ""),
    ],
)
def test_tests_that_no_path_covers_are_named(
    explained: Explained, tmp_path: Path, files: list[str], check: str, says: str
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    told = [line for line in explained(WHOLE.replace('[sh, -c, "exit 0"]', check)).warnings if "tests expect" in line]
    assert len(told) == bool(says)
    for line in told:
        assert line.startswith("proctor.yaml:3: state.protect: the worker may rewrite what tests expect: ")
        assert says in line


def test_tests_in_the_sources_are_told_where_cargo_runs_them(explained: Explained, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/lib.rs").write_text("pub fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\n")
    (tmp_path / "src/main.rs").write_text("fn main() {}\n")
    assert not any("beside the code" in line for line in explained().warnings)
    told = explained(WHOLE.replace('[sh, -c, "exit 0"]', "[cargo, test]")).warnings
    assert any(line.startswith("proctor.yaml:3: state.protect: tests in src/lib.rs stand beside") for line in told)


WALLS = "What holds the worker?"


def walls(told: Explanation) -> str:
    text = str(told)
    assert WALLS in text
    assert len(told.sandbox) <= 2
    return " ".join(told.sandbox)


@pytest.mark.parametrize(
    ("sandbox", "repository", "says"),
    [
        ("", "/home/me/billing", ["history of /home/me/billing", "cannot reach", "4G of memory", "shown empty"]),
        ("", "", ["no git", "no home", "Unix sockets can be made"]),
        ("", None, ["a repository of its own"]),
        ("{git: always}", "", ["a repository of its own, empty"]),
        ("{unix_sockets: false, agent_settings: trust}", "", ["no Unix sockets", "TRUSTED"]),
        ("{limits: {memory: 1G}}", "", ["1G of memory", "512 processes"]),
    ],
)
def test_what_real_walls_hold_is_said(
    explained: Explained, sandbox: str, repository: str | None, says: list[str]
) -> None:
    more = f"sandbox: {sandbox}\n" if sandbox else ""
    told = explained(WHOLE + more, facts=Facts(repository=repository))
    assert [word for word in says if word not in walls(told)] == []
    assert "Read-only to the worker: tests." in str(told)
    assert "Hidden from the worker: secrets." in str(told)


@pytest.mark.parametrize(
    ("kind", "says"),
    [("weak", "no path is read-only or hidden, .git is your own"), ("none", "nothing holds it")],
)
def test_without_real_walls_nothing_is_said_to_hold_that_does_not(explained: Explained, kind: str, says: str) -> None:
    told = explained(f"{WHOLE}sandbox: {{kind: {kind}}}\n", facts=Facts(repository="/home/me/billing"))
    assert says in walls(told)
    text = str(told)
    assert "Read-only to the worker" not in text
    assert "Hidden from the worker" not in text
    assert "the worker can write them: tests." in text
    assert f"NOT hidden (sandbox: {kind}), it can read them: secrets." in text


def test_without_a_repository_no_commits_are_promised(explained: Explained) -> None:
    assert "proctor/SESSION" not in str(explained(facts=Facts(repository="")))
    assert "a branch of your git repository." in str(explained(facts=Facts(repository="/home/me/billing")))
