"""Contracts that nobody should write: each is refused with file, line, key and a way out, and at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.contract.load import load
from proctor.contract.problems import located
from proctor.contract.queue import peek
from proctor.contract.starter import init
from proctor.contract.state import State
from proctor.contract.wrong import nearest
from proctor.errors import UsageError

from .conftest import SMALLEST

Write = Callable[[str | bytes], Path]
Refusal = Callable[[str | bytes], list[str]]

CHECK = "keys of its own: run, timeout, optional, expect, allow_vacuous, repeat, artifact, schema, page"
ALONE = "means nothing here, for the"
PROGRAM = "must start with a program, and hold no NUL"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        # a check, and keys that mean nothing where they stand
        ("checks:", "smoke: {run: [x], optional: true}, checks:", f"progress.smoke.optional: {ALONE} smoke check"),
        ("checks:", "smoke: {run: [x], allow_vacuous: y}, checks:", f"progress.smoke.allow_vacuous: {ALONE} smoke"),
        ("-q]}", "-q]}, {run: [x], optional: On, repeat: 1}", "progress.checks[1].repeat: means nothing beside"),
        ("-q]}", "-q]}, {run: [x], optional: t, allow_vacuous: 1}", "checks[1].allow_vacuous: means nothing beside"),
        ("-q]}", "-q], optional: y}", "progress.checks: no check: what proves that a task is done?"),
        ("[{run: [pytest, -q]}]", "[]", "nor is there a task: write tasks.json, or `- [ ]` items in PLAN.md"),
        ("[pytest, -q]", "[]", "progress.checks[0].run: names no program: write the command as a list of words"),
        ("[{run: [pytest, -q]}]", "{run: [x]}", "progress.checks: should be a list such as [{run: [pytest, -q]}]"),
        ("{run: [pytest, -q]}", "pytest", f"progress.checks[0]: should hold {CHECK}"),
        ("-q]}", "-q], repaet: 2}", "progress.checks[0].repaet: unknown key, nearest: repeat"),
        ("[pytest, -q]", "['']", f"progress.checks[0].run: {PROGRAM}"),
        ("[pytest, -q]", "[~]", "progress.checks[0].run[0]: has no value"),
        # a worker
        ("[python, agent.py]", '["a\\nb"]', f"worker.command: {PROGRAM}"),
        ("kind: command, command: [python, agent.py]", "kind: claude, brief: file", "worker.brief: means nothing for"),
        ("agent.py]", "agent.py], model: m, cheaper: {model: m}", "worker.cheaper.model: is worker.model itself"),
        # numbers that YAML would have taken for others
        ("40", "0x10", "budget.iterations.limit: '0x10' is not a number; write it like 3000, 812k, 2M"),
        ("40", "1:30", "budget.iterations.limit: '1:30' is not a number"),
        ("40", "1e3", "budget.iterations.limit: '1e3' is not a number"),
        ("40", "[4]", "budget.iterations.limit: should be a number such as 3000, 812k or 2M"),
        ("40", "4,0", "budget.iterations.0: unknown key; the keys here are limit, on_exhaustion"),
        ("40", "40, per_task: 41", "budget.iterations.per_task: is more than the limit"),
        ("40", "40, per_iteration: 1", "budget.iterations.per_iteration: bounds nothing"),
        # what is no YAML, or not what was meant
        ("goal: Port", "goal: a: Port", "mapping values are not allowed here; a key ends with `: `"),
        ("goal: Port", "goal: @Port", "that cannot start any token; put a text that begins with it in quotes"),
        ("Port the", "x" * 10_001, "goal: is longer than 10,000 characters"),
    ],
    ids=lambda value: value[-40:],
)  # fmt: skip
def test_it_is_refused_where_it_stands(refusal: Refusal, old: str, new: str, said: str) -> None:
    line = 1 + SMALLEST[: SMALLEST.index(old)].count("\n")
    assert any(one.startswith(f"proctor.yaml:{line}: ") and said in one for one in refusal(SMALLEST.replace(old, new)))


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("termination: {final: {run: [x], optional: yes}}", "termination.final.optional: " + ALONE + " final check"),
        ("termination: {final: pytest}", f"termination.final: should hold {CHECK}"),
        ("state: {tasks: .}", "state.tasks: '.' is the whole workspace; name a file in it"),
        ("state: {rules: a, plan: a/b}", "state.rules: 'a' and state.plan cannot both be: one would be a folder"),
        (f"state: {{tasks: {'x' * 256}}}", "is longer than a path can be"),
        ("gateway: {upstream: {'a b': {base_url: 'https://a'}}}", "'a b' is no name: letters, digits, - and _"),
        ("gateway: {upstream: {a: {base_url: 'https://a', headers: {'x y': b}}}}", "is not the name of a header"),
        ('gateway: {upstream: {a: {base_url: "https://a", headers: {x: "a\\nb"}}}}', "is not one line of plain"),
        ("gateway: {upstream: []}", "gateway.upstream: should be names with their values"),
        ("notify: {run: [x]}", "notify: should be a list such as [bell, {run: [./tell.sh]}]"),
        ("sandbox: {kind: no}", "sandbox.kind: 'no' is not one of bwrap, weak, none, nearest: none"),
    ],
    ids=lambda value: value[-40:],
)
def test_a_section_of_it_is_refused_where_it_stands(refusal: Refusal, section: str, said: str) -> None:
    (line,) = refusal(f"{SMALLEST}{section}\n")
    assert line.startswith("proctor.yaml:5: ")
    assert said in line


def test_an_empty_list_is_not_told_beside_what_is_wrong_in_it(refusal: Refusal) -> None:
    assert refusal(SMALLEST.replace("[python, agent.py]", "[[x]]")) == [
        "proctor.yaml:2: worker.command[0]: should be a text"
    ]


def test_a_message_of_a_key_gets_its_file_and_line_and_no_other_does(write: Write) -> None:
    contract = load(write(f"{SMALLEST}state:\n  protect: tests/\n  hide:\n  - a\n  - b\n"))
    keys = ("state.hide[1]", "state.protect[0]", "state.plan", "notify")
    assert [located(contract, f"{key}: no") for key in keys] == [
        "proctor.yaml:9: state.hide[1]: no",
        "proctor.yaml:6: state.protect: no",
        "proctor.yaml:5: state.plan: no",
        "proctor.yaml: notify: no",
    ]
    for line in ("tasks.json:3: task 1: no", "the goal: no", "goals: no", "state of things", ""):
        assert located(contract, line) == line


def test_a_list_of_tasks_that_cannot_be_read_is_no_empty_one(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.json"
    for make in (lambda: tasks.symlink_to("gone"), lambda: os.mkfifo(tasks), tasks.mkdir, tasks.touch):
        make()
        assert not peek(tmp_path, State()).readable
        tasks.rmdir() if tasks.is_dir() else tasks.unlink()


def test_init_writes_nothing_beside_a_contract_that_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "proctor.yaml")
    with pytest.raises(UsageError, match=r"proctor\.yaml: is not a plain file; move it away"):
        init(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["proctor.yaml"]


def test_the_nearest_word_is_found_whatever_its_case_and_dashes() -> None:
    assert nearest("On-Exhaustion", ["limit", "on_exhaustion"]) == "on_exhaustion"
    assert nearest("session_branch", ["session-branch", "none"]) == "session-branch"
    assert nearest("xyzzy", ["limit"]) == ""
