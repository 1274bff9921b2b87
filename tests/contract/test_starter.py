from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proctor.budget.dimensions import Usage
from proctor.cli.main import main
from proctor.contract import ground
from proctor.contract.lint import explain
from proctor.contract.load import load
from proctor.contract.starter import GOAL, NO_CHECK, init, without_template
from proctor.doors.gateway.prices import price
from proctor.errors import UsageError

ALL = ["proctor.yaml", "PLAN.md", "tasks.json", "PROGRESS.md", "RULES.md", "specs/README.md"]


def put(workspace: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    return workspace


def program(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


def test_an_empty_project_gets_every_file_and_a_contract_that_loads(tmp_path: Path) -> None:
    assert init(tmp_path) == ALL
    contract = load(tmp_path)
    assert contract.goal == GOAL
    assert contract.progress.checks[0].run == NO_CHECK
    assert json.loads((tmp_path / "tasks.json").read_text()) == []
    assert init(tmp_path) == []


def test_the_plan_that_init_wrote_is_none_until_something_is_written_in_it(tmp_path: Path) -> None:
    init(tmp_path)
    plan = tmp_path / "PLAN.md"
    template = plan.read_text()
    assert without_template(template) == ""
    assert without_template(f"{template}\nFirst the door.\n") == "\nFirst the door.\n"
    assert without_template("# Plan\n\nFirst the door.\n") == "# Plan\n\nFirst the door.\n"
    warned = "state.plan: PLAN.md still has what init wrote"
    assert any(warned in line for line in explain(load(tmp_path), tmp_path).warnings)
    plan.write_text("First the door.\n")
    assert not any(warned in line for line in explain(load(tmp_path), tmp_path).warnings)


def test_nothing_that_is_there_is_written_over(tmp_path: Path) -> None:
    put(tmp_path, {name: f"mine: {name}" for name in ALL[1:]})
    (tmp_path / "specs" / "README.md").unlink()
    (tmp_path / "RULES.md").unlink()
    (tmp_path / "RULES.md").symlink_to("nowhere")
    assert init(tmp_path) == ["proctor.yaml"]
    assert (tmp_path / "PLAN.md").read_text() == "mine: PLAN.md"
    assert os.readlink(tmp_path / "RULES.md") == "nowhere"
    assert not (tmp_path / "nowhere").exists()


def test_the_names_of_a_contract_that_is_there_are_followed(tmp_path: Path) -> None:
    put(tmp_path, {"proctor.yaml": "state: {tasks: work/queue.json, plan: work/plan.md}\n"})
    assert init(tmp_path) == ["work/plan.md", "work/queue.json", "PROGRESS.md", "RULES.md", "specs/README.md"]


def test_the_open_items_of_a_plan_are_not_hidden_by_an_empty_task_list(tmp_path: Path) -> None:
    put(tmp_path, {"PLAN.md": "# Plan\n\n- [ ] Port the billing\n"})
    assert "tasks.json" not in init(tmp_path)


@pytest.mark.parametrize(
    ("files", "run", "protect"),
    [
        ({"pytest.ini": "[pytest]\n", "tests/test_a.py": ""}, "python -m pytest -q", ("tests", "pytest.ini")),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python -m pytest -q", ()),
        ({"setup.cfg": "[tool:pytest]\n"}, "python -m pytest -q", ()),
        ({"tests/test_a.py": "import pytest\n"}, "python -m pytest -q", ("tests",)),
        ({"tests/test_a.py": "def test_a(): pass\n"}, "python -m pytest -q", ("tests",)),
        ({"tests/test_a.py": "import unittest\n"}, "python -m unittest discover -s tests", ("tests",)),
        (
            {"extra/test_z.py": "import unittest\n", "tests/test_a.py": "import unittest\n"},
            "python -m unittest discover -s tests",
            ("tests", "extra/test_z.py"),
        ),
        (
            {"tests/__init__.py": "", "tests/test_a.py": "from unittest import TestCase\n"},
            "python -m unittest discover -t . -s tests",
            ("tests",),
        ),
        ({"test_a.py": "import unittest\n"}, "python -m unittest", ("test_a.py",)),
        ({"calc_test.py": "def test_a(): pass\n"}, "python -m pytest -q", ("calc_test.py",)),
        ({"package.json": '{"scripts": {"test": "vitest run"}}', "test/a.js": ""}, "npm test", ("test",)),
        ({"package.json": '{"scripts": {"test": "jest"}}', "pnpm-lock.yaml": ""}, "pnpm test", ()),
        ({"Cargo.toml": "[package]\n", "tests/a.rs": ""}, "cargo test", ("tests",)),
        (
            {"package.json": '{"scripts": {"test": "node --test"}}', "src/a.test.js": "", "src/__tests__/b.js": ""},
            "npm test",
            ("src/a.test.js", "src/__tests__"),
        ),
        ({"go.mod": "module x\n", "m/m.go": "", "m/m_test.go": ""}, "go test ./...", ("m/m_test.go",)),
        ({"Makefile": "all:\n\techo\ntest: all\n\techo\n"}, "make test", ("Makefile",)),
        ({"Makefile": "check :\n\techo\n"}, "make check", ("Makefile",)),
    ],
)
def test_the_test_command_of_a_project_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], run: str, protect: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))
    init(put(tmp_path, files))
    contract = load(tmp_path)
    assert " ".join(contract.progress.checks[0].run) == run
    assert contract.state.protect == protect


@pytest.mark.parametrize(
    "files",
    [
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"package.json": "[" * 5_000},
        {"package.json": '{"scripts": ["test"]}'},
        {"pyproject.toml": "tool = 3\n"},
        {"pyproject.toml": "not toml"},
        {"Makefile": "test := x\nlatest: x\n"},
        {"node_modules/x/test_a.py": "import unittest\n"},
    ],
    ids=lambda files: next(iter(files)),
)
def test_where_no_test_command_is_found_the_check_never_passes(tmp_path: Path, files: dict[str, str]) -> None:
    init(put(tmp_path, files))
    assert load(tmp_path).progress.checks[0].run == NO_CHECK


def test_the_tests_are_run_by_the_first_python_that_has_pytest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    work = put(tmp_path / "work", {"pytest.ini": "[pytest]\n"})
    put(tmp_path, {"without/python": "#!/bin/sh\nexit 1\n", "with/python": "#!/bin/sh\n"})
    for folder in ("without", "with"):
        (tmp_path / folder / "python").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/without:{tmp_path}/none")
    assert main(["init", str(work)]) == 0
    assert load(work).progress.checks[0].run == ("python", "-m", "pytest", "-q")
    assert "warning: no python on PATH has pytest" in capsys.readouterr().out
    for path, run in (
        (f"{tmp_path}/without:{tmp_path}/with", f"{tmp_path}/with/python -m pytest -q"),
        (f"{tmp_path}/with", "python -m pytest -q"),
    ):
        monkeypatch.setenv("PATH", path)
        suite = ground.suite(work)
        assert suite is not None
        assert (" ".join(suite.run), suite.lacks) == (run, "")
    put(work, {".venv/lib/python3.11/site-packages/pytest/__init__.py": ""})
    suite = ground.suite(work)
    assert suite is not None
    assert suite.run[0] == ".venv/bin/python"


def test_the_command_found_really_runs_the_tests(tmp_path: Path) -> None:
    test = (
        "import unittest\nfrom here import X\nclass T(unittest.TestCase):\n    def test_a(self): self.assertTrue(X)\n"
    )
    put(tmp_path, {"here.py": "X = 1\n", "tests/__init__.py": "", "tests/test_a.py": test})
    suite = ground.suite(tmp_path)
    assert suite is not None
    argv = [sys.executable, *suite.run[1:]]
    assert b"Ran 1 test" in subprocess.run(argv, cwd=tmp_path, capture_output=True, check=True).stderr


def test_the_agents_on_path_are_named_and_the_first_is_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin", "codex")
    program(tmp_path / "bin", "aider")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    workspace = tmp_path / "project"
    workspace.mkdir()
    init(workspace)
    assert "# found on PATH: codex, aider." in (workspace / "proctor.yaml").read_text()
    assert load(workspace).worker.kind == "codex"
    for agent in ground.AGENTS:
        program(tmp_path / "bin2", agent.program)
        monkeypatch.setenv("PATH", str(tmp_path / "bin2"))
        (workspace / "proctor.yaml").unlink()
        init(workspace)
        contract = load(workspace)
        assert (contract.worker.kind, contract.worker.agent or "") == (agent.kind, agent.agent)
        assert contract.gateway.upstream[agent.upstream].key == f"env:{agent.key}"
        known = price(agent.model, Usage(input=1, output=1), at=datetime.now(UTC)) is not None
        assert (contract.budget.cost is not None) == agent.priced == known
        (tmp_path / "bin2" / agent.program).unlink()


def test_the_state_of_git_is_told_and_git_runs_nothing_of_the_project(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    assert ground.git_state(tmp_path) == "no repository"
    subprocess.run([*git, "init", "-q", "-b", "trunk"], check=True)
    assert ground.git_state(tmp_path) == "trunk, clean"
    put(tmp_path, {"a": "1", "b": "2", ".gitattributes": "* filter=trap\n"})
    subprocess.run([*git, "add", "a"], check=True)
    for key, value in (
        ("core.fsmonitor", f"touch {tmp_path}/ran-fsmonitor"),
        ("filter.trap.clean", f"touch {tmp_path}/ran-filter"),
    ):
        subprocess.run([*git, "config", key, value], check=True)
    (tmp_path / "a").write_text("changed")
    assert ground.git_state(tmp_path) == "trunk, 3 changed or new"
    init(tmp_path)
    assert "# git: trunk, 3 changed or new" in (tmp_path / "proctor.yaml").read_text()
    assert not list(tmp_path.glob("ran-*"))


def test_a_workspace_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="the workspace is not a folder"):
        init(tmp_path / "file")
    (tmp_path / "specs").write_text("not a folder")
    assert "specs/README.md" not in init(tmp_path)
    put(tmp_path, {"proctor.yaml": "state: {plan: file/PLAN.md}\n"})
    with pytest.raises(UsageError, match=r"file/PLAN\.md: cannot be written: "):
        init(tmp_path)


def test_what_looks_like_a_secret_is_hidden_from_the_first(tmp_path: Path) -> None:
    put(tmp_path, dict.fromkeys((".env", ".env.local", ".env.example", "server.pem", "main.py", "secrets/a"), ""))
    init(tmp_path)
    assert load(tmp_path).state.hide == (".env", ".env.local", "secrets", "server.pem")
    assert "# sandbox: {kind: bwrap}" in (tmp_path / "proctor.yaml").read_text()
