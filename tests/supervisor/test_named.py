"""What a plan names and is gone: on real checkpoints, with what must not be taken for gone beside it."""

from __future__ import annotations

import json
import time
from functools import reduce
from types import SimpleNamespace
from typing import Any

import pytest

from proctor.checkpoint.repository import Store
from proctor.journal import drift
from proctor.journal import events as ev
from proctor.journal.state import TaskState
from proctor.progress.naming import MOST, names
from proctor.supervisor import rot
from proctor.supervisor.drifting import folder_of
from proctor.supervisor.named import _DEFINES, _TARGET, Told, _scripts, gone_paths, gone_words

BEFORE = {
    "src/parser.py": "class Parser:\n    def read_row(self, line):\n        return line\n\nMAX_ROWS = 3\n",
    "src/keep.py": "def kept(): pass\ndef called_elsewhere(): pass\n",
    "src/use.py": "called_elsewhere(limits)\n",
    "src/app.py": "def main(): pass\n",
    "old/a.py": "",
    "old/b.py": "",
    "web/index.js": "export async function render(page) {}\nconst limit = 5;\n",
    "go/x.go": "package x\nfunc (s *Store) Close() error { return nil }\n",
    "Makefile": "docs: src\n\tx\ntest:\n\ty\n",
    "package.json": json.dumps({"scripts": {"build": "x", "lint": "y"}}),
    "PLAN.md": "`Parser.read_row` and src/parser.py",
    "README.md": "Call `read_row`.",
}
AFTER = {
    "src/rows.py": "class Rows:\n    def read_rows(self, line):\n        return line\n",
    "src/keep.py": "def kept(): pass\n",
    "src/app/__init__.py": "def main(): pass\n",
    "lib/b.py": "",
    "web/index.js": "",
    "go/x.go": "package x\n",
    "Makefile": "test:\n\ty\n",
    "package.json": json.dumps({"scripts": {"lint": "y"}}),
}
GONE = ["src/parser.py", "src/app.py", "old/a.py", "old/b.py"]


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str, str]:
    work = tmp_path_factory.mktemp("named") / "w"
    for path, text in BEFORE.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text)
    store = Store(work, work / ".proctor" / "checkpoints.git", ("tasks.json",))
    before = store.snapshot("c1").commit
    for path in GONE:
        (work / path).unlink()
    (work / "old").rmdir()
    for path, text in AFTER.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text)
    return SimpleNamespace(store=store, workspace=work), before, store.snapshot("c2").commit


def test_files_folders_and_bare_names_are_gone_if_nothing_of_the_name_is_left(changed: tuple[Any, str, str]) -> None:
    wanted = ["src/parser.py", "parser.py", "old", "b.py", "src/keep.py", "src/never.py", "src/app.py", "src", "x/"]
    assert gone_paths(*changed, wanted) == ["old", "parser.py", "src/parser.py"]


def test_symbols_targets_and_scripts_are_gone_if_code_defined_them_and_none_mentions_them(
    changed: tuple[Any, str, str],
) -> None:
    session, before, after = changed
    text = (
        "`Parser.read_row()` `MAX_ROWS` `kept` `called_elsewhere` `main` `never_was` `render()` `limit` `Close` "
        "`make docs test` `npm run build` `npm run lint` `npm run never`"
    )
    found = gone_words(session.store, before, after, names(text), {"PLAN.md"})
    assert found == ["Close", "MAX_ROWS", "Parser.read_row", "limit", "make docs", "render", "script build"]


def test_a_task_is_told_its_own_words_its_spec_and_the_common_lines_of_the_plan() -> None:
    tasks = tuple(
        (TaskState(id=n, task=f"Do {word} with {word}.py"), f"spec/{word}.py") for n, word in ((1, "one"), (2, "two"))
    )
    plan = "Look at common.py.\n- [ ] Do one with one.py\n  and below.py\n- [ ] Do two with two.py\nDelete three.py"
    told = Told(plan, tasks)
    assert told.of(tasks[0][0]).paths == {"common.py", "one.py", "spec/one.py", "below.py", "three.py"}
    assert told.of(tasks[1][0]).paths == {"common.py", "two.py", "spec/two.py", "three.py"}
    assert told.may_go().paths == {"three.py"}
    assert told.rev != Told(plan + " ", tasks).rev


def test_the_folder_of_a_change_is_the_deepest_that_holds_nearly_all_of_it() -> None:
    assert folder_of(["src/a/x.py", "src/a/y.py", "src/a/b/z.py"]) == "src/a"
    assert folder_of(["src/a/x.py", "docs/y.md"]) == ""
    assert folder_of(["x.py"]) == ""
    assert folder_of([]) == ""
    assert folder_of([*(f"src/{n}.py" for n in range(20)), "docs/y.md"]) == "src"


def test_a_long_plan_of_many_tasks_and_deep_folders_cost_little() -> None:
    began = time.process_time()
    tasks = tuple((TaskState(id=n, task=f"Do the thing number {n}"), "") for n in range(80))
    told = Told("\n".join(f"- step {n} is in src/m{n}.py" for n in range(2_000)), tasks)
    assert all(len(told.of(task).paths) == MOST for task, _ in tasks)
    deep = [f"{'d/' * 1_000}{n}" for n in range(50)]
    assert folder_of(deep) == "/".join(["d"] * 1_000)
    assert time.process_time() - began < 5


def test_a_file_that_is_nested_without_end_has_no_scripts() -> None:
    assert _scripts('{"scripts":' * 50_000) == set()


def test_what_the_operator_holds_to_is_not_asked_for_again_however_much_it_is_and_however_it_is_named() -> None:
    names = [f"{'folder/' * 60}{n}\x1b.py" for n in range(200)]
    rows = [ev.PlanConfirmed(gone=(rot.shown(name),), by="operator") for name in names]
    state = reduce(drift.after, rows, drift.DriftState())
    assert {rot.shown(name) for name in names} == set(state.confirmed)


def test_a_hostile_source_costs_little() -> None:
    began = time.process_time()
    for text in ("pub " * 60_000, "def " * 60_000, "a b " * 60_000, "a" * 250_000, " " * 250_000, "pub(" * 60_000):
        _DEFINES.findall(text)
        _TARGET.findall(text)
    assert time.process_time() - began < 5
