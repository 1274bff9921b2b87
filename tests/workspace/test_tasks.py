"""The task list is read as the operator wrote it, or refused with one line that says where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UsageError
from proctor.journal.events import CheckFact, TaskFact
from proctor.workspace import tasks

DEFAULT = (CheckFact(run=("true",)),)


def read(workspace: Path) -> tuple[TaskFact, ...]:
    return tasks.read(workspace, "tasks.json", "PLAN.md", DEFAULT)


def refusal(workspace: Path, content: object) -> str:
    text = content if isinstance(content, str) else json.dumps(content)
    (workspace / "tasks.json").write_text(text)
    with pytest.raises(UsageError) as error:
        read(workspace)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_task_is_read_with_its_spec_and_its_check(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/14.md").write_text("# Refunds")
    entry = {
        "id": 14,
        "task": "Port the refund endpoint",
        "spec": "specs/14.md",
        "check": {"run": ["pytest", "-q"], "timeout": "60s", "expect": "passed"},
        "status": "done",
        "verified_by": 3,
        "owner": "someone",
    }
    (tmp_path / "tasks.json").write_text(json.dumps([entry, {"id": "b", "task": "Next"}]))
    check = CheckFact(run=("pytest", "-q"), timeout=60.0, expect="passed")
    assert read(tmp_path) == (
        TaskFact(id=14, task="Port the refund endpoint", spec="specs/14.md", checks=(check,)),
        TaskFact(id="b", task="Next", checks=DEFAULT),
    )


def test_a_check_may_ask_for_more_than_an_exit_code_or_for_none(tmp_path: Path) -> None:
    check = {
        "run": ["make"],
        "expect": {"json": "$.n", "equals": "3"},
        "artifact": "dist/a.js",
        "schema": {"file": "dist/a.json", "schema": "tests/a.json"},
    }
    (tmp_path / "tasks.json").write_text(
        json.dumps([{"id": 1, "task": "One", "check": [check, {"page": {"run": ["serve"], "port": 8000}}]}])
    )
    one, two = read(tmp_path)[0].checks
    assert (one.expected.equals, one.artifact and one.artifact.path) == ('"3"', "dist/a.js")
    assert one.files == {"schema.schema": "tests/a.json"}
    assert (two.run, two.title) == ((), "page http://127.0.0.1:8000/")
    assert msgspec.json.decode(msgspec.json.encode(read(tmp_path)), type=tuple[TaskFact, ...]) == read(tmp_path)


def test_the_list_may_stand_under_a_key_and_a_task_may_have_several_checks(tmp_path: Path) -> None:
    checks = [{"run": ["a"]}, {"run": ["b"], "timeout": 2.5, "optional": True}]
    (tmp_path / "tasks.json").write_text(json.dumps({"tasks": [{"id": 1, "task": "One", "check": checks}]}))
    assert [(c.run, c.timeout, c.optional) for c in read(tmp_path)[0].checks] == [
        (("a",), 300.0, False),
        (("b",), 2.5, True),
    ]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "tasks.json:1: empty; write a list of tasks"),
        ("[\n{,\n]", "tasks.json:2: not JSON: expecting property name enclosed in double quotes"),
        ("[" * 100_000, "tasks.json: nested too deeply"),
        ('[{"id": NaN, "task": "x"}]', "tasks.json:1: NaN is not a number that JSON knows"),
        ('[{"id": 1e999, "task": "x"}]', "tasks.json:1: 1e999 is not a number that JSON knows"),
        ('[{"id": 1, "id": 2, "task": "x"}]', "tasks.json:1: task 1: id: given twice in one object"),
        ('[{"id": 1, "task": "\\ud800"}]', "tasks.json:1: holds half of a character pair (\\ud800 to \\udfff)"),
        ([], "tasks.json:1: tasks: empty; write at least one task"),
        ({}, "tasks.json:1: tasks: missing; write a list of tasks, or one under this key"),
        ("7", "tasks.json:1: tasks: must be a list"),
        ('{"tasks": [{"id": 1, "task": "x"}],\n"taks": []}', "tasks.json:2: taks: unknown key, nearest: tasks"),
        ({"tasks": None}, "tasks.json:1: tasks: must be a list"),
        ([1], "tasks.json:1: task 1: must be an object with id, task and check"),
        ([{"task": "x"}], "tasks.json:1: task 1: id: missing: a number or a word that no other task has"),
        ([{"id": 1}], "tasks.json:1: task 1: task: missing: what is to be done, in a sentence"),
        (
            [{"id": True, "task": "x"}],
            "tasks.json:1: task 1: id: should be a whole number or a text, not true or false",
        ),
        (
            [{"id": 1, "task": "x", "check": [{"run": ["a"], "repaet": 2}]}],
            "tasks.json:1: task 1: check[0].repaet: unknown key, nearest: repeat",
        ),
        (
            [{"id": 1, "task": "x", "check": {"run": ["a"], "script": "b"}}],
            "tasks.json:1: task 1: check.script: unknown key; the keys here are run, timeout, optional, expect, "
            "allow_vacuous, repeat, artifact, schema, page",
        ),
        (
            [{"id": 1, "task": "x", "check": {}}],
            "tasks.json:1: task 1: check.run: missing: the command, as a list of "
            "words such as [pytest, -q]; or an artifact, a page",
        ),
        (
            [{"id": 1, "task": "x", "check": []}],
            "tasks.json:1: task 1: check: holds no check: write one, or leave the key out, so that progress.checks are "
            "used",
        ),
        (
            [{"id": 1, "task": "x", "check": {"run": []}}],
            "tasks.json:1: task 1: check.run: names no program: write the command as a list of words, such as "
            "[pytest, -q]",
        ),
        (f'[{{"id": {"9" * 5000}, "task": "x"}}]', "tasks.json:1: a number of 5000 digits; write a shorter one"),
        ([{"id": "a\nb", "task": "x"}], "tasks.json:1: task 1: id: should be a word that can be typed"),
        ([{"id": 2**60, "task": "x"}], "tasks.json:1: task 1: id: should be at most 9007199254740992"),
        ([{"id": 1.5, "task": "x"}], "tasks.json:1: task 1: id: should be a whole number or a text, not a fraction"),
        (
            [{"id": 1, "task": "x\0"}],
            "tasks.json:1: task 1: task: holds a character that no file name or command can hold",
        ),
        ([{"id": 1, "task": "x" * 10_001}], "tasks.json:1: task 1: task: should be no longer than 10000 characters"),
        (
            '[\n{"id": 1, "task": "x"},\n]',
            "tasks.json:3: not JSON: a value is missing: no comment and no comma after the last item may stand there",
        ),
        (
            '{"id": 1, "task": "x"}\n{"id": 2, "task": "y"}',
            "tasks.json:2: not JSON: more follows after its end; the tasks are one list, in [ ]",
        ),
        (
            [{"id": 1, "task": "x", "check": {"run": ["a"], "optional": True, "repeat": 2}}],
            "tasks.json:1: task 1: check.repeat: means nothing beside `optional`, for such a check is never run again; "
            "leave it out",
        ),
        ([{"id": 1, "task": ""}], "tasks.json:1: task 1: task: should not be empty"),
        ([{"id": 1, "task": "x"}, {"id": "1", "task": "y"}], "tasks.json:1: id: 1 is used by tasks 1 and 2"),
        ([{"id": 1, "task": "x", "checks": {}}], "tasks.json:1: task 1: checks: unknown key, nearest: check"),
        (
            [{"id": 1, "task": "x", "check": {"run": ["a"]}, "timeout": "5s"}],
            "tasks.json:1: task 1: timeout: unknown key here; it belongs in check",
        ),
        (
            [{"id": 1, "task": "x", "check": {"run": ["a"]}, "max_iterations": 3}],
            "tasks.json:1: task 1: max_iterations: unknown key here; it belongs in the contract's budget, as per_task",
        ),
        ([{"id": 1, "task": "x", "spec": 3}], "tasks.json:1: task 1: spec: should be a text, not a whole number"),
        ([{"id": 1, "task": "x", "spec": "no.md"}], "tasks.json:1: task 1: spec: no.md: not found"),
        (
            [{"id": 1, "task": "x", "spec": "../no.md"}],
            "tasks.json:1: task 1: spec: ../no.md: must be a path inside the workspace",
        ),
        (
            [{"id": 1, "task": "x", "check": {"run": "pytest"}}],
            "tasks.json:1: task 1: check.run: is a list of words, for no shell reads it: [pytest]",
        ),
        (
            [{"id": 1, "task": "x", "check": {"run": ["a"], "tiemout": 3}}],
            "tasks.json:1: task 1: check.tiemout: unknown key, nearest: timeout",
        ),
        (
            [{"id": 1, "task": "x", "check": {"run": ["a"], "timeout": 0}}],
            "tasks.json:1: task 1: check.timeout: '0' is too little; it can be 1ms to 7d",
        ),
        (
            [{"id": 1, "task": "x", "check": {"run": ["a"], "repeat": -1}}],
            "tasks.json:1: task 1: check.repeat: '-1' is too little; it can be 0 to 100",
        ),
        (
            [{"id": 1, "task": "x", "check": {"run": [" "]}}],
            "tasks.json:1: task 1: check.run: must start with a program, and hold no NUL",
        ),
        (
            [{"id": 1, "task": "x", "check": {"run": ["a"], "artifact": {"pth": "a"}}}],
            "tasks.json:1: task 1: check.artifact.pth: unknown key, nearest: path",
        ),
        (
            [{"id": 1, "task": "x", "check": {"expect": "a"}}],
            "tasks.json:1: task 1: check.run: missing: the command, as a list of words such as [pytest, -q]; "
            "or an artifact, a page",
        ),
        (
            [{"id": 1, "task": "x", "check": {"page": {"run": ["a"], "port": 80, "status": "200"}}}],
            "tasks.json:1: task 1: check.page.status: should be a whole number, not a text",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_its_place(tmp_path: Path, content: object, line: str) -> None:
    assert refusal(tmp_path, content) == line


def test_a_timeout_that_is_no_duration_is_refused(tmp_path: Path) -> None:
    line = refusal(tmp_path, [{"id": 1, "task": "x", "check": {"run": ["a"], "timeout": "soon"}}])
    assert line.startswith("tasks.json:1: task 1: check.timeout: 'soon' is not a duration")


LIST = """\
{"tasks": [
  {"id": 1, "task": "x",
   "check": [{"run": ["a"]},
             {"run": ["b"], "repaet": 3}]},
  {"id": 2, "task": "],{\\"\\n",
   "check": {"run": ["a"],
             "page": {"run": ["b"], "port": 80,
                      "status": 7}}},
  {"id": 3, "task": "z", "spec": "no.md"}
]}
"""


def test_every_fault_is_told_with_the_line_on_which_it_stands(tmp_path: Path) -> None:
    (tmp_path / "tasks.json").write_text(LIST)
    with pytest.raises(UsageError) as caught:
        read(tmp_path)
    assert str(caught.value).splitlines() == [
        "tasks.json:4: task 1: check[1].repaet: unknown key, nearest: repeat",
        "tasks.json:8: task 2: check.page.status: is not one that a server gives, such as 200",
        "tasks.json:9: task 3: spec: no.md: not found",
    ]
    (tmp_path / "tasks.json").write_text(LIST.replace('"id": 3', '"id": 2, "id": 3'))
    with pytest.raises(UsageError, match=r"^tasks\.json:9: task 3: id: given twice in one object$"):
        read(tmp_path)
    (tmp_path / "tasks.json").write_text(LIST.replace('"id": 3', '"id": "2"'))
    with pytest.raises(UsageError, match=r"^tasks\.json:9: id: 2 is used by tasks 2 and 3$"):
        read(tmp_path)
    (tmp_path / "tasks.json").write_text(LIST.replace("repaet", "repeat").replace('"repeat": 3', '"repeat": 1e999'))
    with pytest.raises(UsageError, match=r"^tasks\.json:4: 1e999 is not a number that JSON knows$"):
        read(tmp_path)
    many = [{"id": n, "task": ""} for n in range(100)]
    (tmp_path / "tasks.json").write_text(json.dumps(many))
    with pytest.raises(UsageError) as caught:
        read(tmp_path)
    assert str(caught.value).splitlines()[19:] == [
        "tasks.json:1: task 20: task: should not be empty",
        "tasks.json: and maybe more",
    ]


def test_without_any_list_both_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no tasks: tasks\.json not found and PLAN\.md not found"):
        read(tmp_path)
    (tmp_path / "PLAN.md").write_text("# Plan\n- [x]\n")
    with pytest.raises(UsageError, match=r"PLAN\.md holds no `- \[ \]` item"):
        read(tmp_path)


PLAN = """\
# Plan

- [ ] Port refunds
  - [ ] its endpoint
    more words
* [x] Port invoices
1. [X] Port `credits`
- Phase two
  - [ ] Clean up
- [link](x) and - [ ] no item

```markdown
- [ ] only an example
~~~
```
<!--
- [ ] not yet
-->
- [ ]\tLast
"""


def test_a_plan_holds_tasks_by_their_position_whatever_its_boxes_say(tmp_path: Path) -> None:
    (tmp_path / "PLAN.md").write_text(PLAN)
    assert [(task.id, task.task, task.checks) for task in read(tmp_path)] == [
        (1, "Port refunds", DEFAULT),
        (2, "Port invoices", DEFAULT),
        (3, "Port `credits`", DEFAULT),
        (4, "Clean up", DEFAULT),
        (5, "Last", DEFAULT),
    ]
    assert tasks.source(tmp_path, "tasks.json", "PLAN.md") == "PLAN.md"


def test_a_task_list_goes_before_the_plan(tmp_path: Path) -> None:
    (tmp_path / "PLAN.md").write_text(PLAN)
    (tmp_path / "tasks.json").write_text('[{"id": 9, "task": "Only"}]')
    assert [task.id for task in read(tmp_path)] == [9]
    assert tasks.source(tmp_path, "tasks.json", "PLAN.md") == "tasks.json"


def test_a_plan_has_another_revision_once_it_differs() -> None:
    assert tasks.plan_revision("a") == tasks.plan_revision("a") != tasks.plan_revision("b")
    assert len(tasks.plan_revision("")) == 64


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "task", "tasks", "check", "run", "spec", "timeout", "expect", "artifact", "page"])
            | st.text(max_size=4),
            inner,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_a_task_list_or_one_clear_line(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    workspace = tmp_path_factory.mktemp("w")
    (workspace / "tasks.json").write_text(json.dumps(value))
    try:
        line = f"tasks.json: {len(read(workspace))} tasks"
    except UsageError as error:
        line = str(error)
    assert all(told.startswith("tasks.json:") and told.isprintable() for told in line.splitlines())


@given(st.text())
def test_any_text_is_a_plan(text: str) -> None:
    assert all(title and "\n" not in title for title in tasks.plan_items(text))
