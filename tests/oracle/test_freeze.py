"""The frozen set: what belongs to it, and that it stays what was recorded."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import Unrecoverable, UsageError
from proctor.oracle import freeze as freezing
from proctor.oracle import recording
from proctor.oracle.freeze import freeze, load_frozen
from proctor.oracle.frozen import decode, encode, revision
from proctor.oracle.tamper import undo

from .project import Project


def names(project: Project) -> set[str]:
    return set(project.frozen.by_path)


def test_protected_folders_are_frozen_with_all_they_hold(project: Project) -> None:
    project.write("tests/data/deep/rows.csv", "a,b\n")
    project.write("tests/__pycache__/x.pyc", "")
    project.write(".ruff_cache/conftest.py", "")
    project.freeze("./tests//", "calc.py", "not/there/yet")
    assert names(project) == {"calc.py", "tests/__init__.py", "tests/data/deep/rows.csv", "tests/test_add.py"}
    assert project.frozen.roots == ("calc.py", "not/there/yet", "tests")
    assert all(item.declared for item in project.frozen.items)


def test_g1_what_runners_find_by_themselves_is_frozen_undeclared(project: Project) -> None:
    found = {
        *("conftest.py", "deep/er/conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml"),
        *("noxfile.py", "sitecustomize.py", "src/usercustomize.py", "Makefile", "GNUmakefile", "package.json"),
        *("sub/package.json", "jest.config.ts", "vitest.config.mjs", ".mocharc.yml", ".coveragerc"),
        "vendored/lib/site-packages/hook.pth",
    }
    other = {
        *("README.md", "model.pth", "my_conftest.py", "docs/Makefile.txt", "node_modules/left/package.json"),
        *(".git/conftest.py", ".proctor/conftest.py", "cache/conftest.py"),
    }
    for path in found | other:
        project.write(path, "")
    frozen = project.freeze(ignored=["cache"])
    assert names(project) == found
    assert not any(item.declared for item in frozen.items)


def test_a_checks_own_script_and_the_tests_it_names_are_frozen(project: Project, tmp_path: Path) -> None:
    project.write("tools/check.py", "")
    project.write("run.sh", "")
    project.write("more/test_x.py", "")
    project.write("strict.toml", "")
    outside = tmp_path / "outside.py"
    outside.touch()
    checks = [
        ["python3", "-W", "error", "tools/check.py", "calc.py"],
        [str(project.workspace / "run.sh"), "calc.py"],
        ["uv", "run", "pytest", "more/test_x.py::test_one[a-b]", "--config-file=strict.toml"],
        ["python", "-m", "unittest", "tests.test_add.TestAdd.test_zero"],
        ["ruff", "check", "calc.py"],
        ["python", str(outside)],
        ["../outside.py"],
        ["bash", "-c", "calc.py"],
    ]
    project.freeze(checks=checks)
    assert names(project) == {"tools/check.py", "run.sh", "more/test_x.py", "strict.toml", "tests/test_add.py"}


def test_links_are_recorded_and_not_followed(project: Project, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter2")
    (project.workspace / "tests" / "out").symlink_to(tmp_path)
    (project.workspace / "tests" / "data").symlink_to("../calc.py")
    frozen = project.freeze("tests")
    links = {item.path: item.link for item in frozen.items if item.link}
    assert links == {"tests/data": "../calc.py", "tests/out": str(tmp_path)}
    assert not any("hunter2" in file.read_text() for file in (frozen.folder / "files").iterdir())


def test_special_files_are_named_and_left_out(project: Project) -> None:
    os.mkfifo(project.workspace / "tests" / "pipe")
    assert project.freeze("tests").skipped == ("tests/pipe",)


def test_a_protected_path_that_is_no_file_is_named_and_left_out(project: Project) -> None:
    os.mkfifo(project.workspace / "pipe")
    assert project.freeze("pipe", checks=[["./pipe"]]).skipped == ("pipe",)


def test_names_and_contents_that_are_no_text_are_frozen_to_the_byte(project: Project) -> None:
    name = os.fsdecode(b"tests/caf\xe9.py")
    (project.workspace / name).write_bytes(b"import json\n\xff\0")
    for path in ("Makefile", "package.json", "jest.config.js", "uv.lock"):
        (project.workspace / path).write_bytes(b"include caf\xe9.mk\n\0\xff")
    frozen = project.freeze("tests")
    assert frozen.content(frozen.by_path[name]).read_bytes() == b"import json\n\xff\0"
    (project.workspace / "uv.lock").write_bytes(b"\xfe")
    assert project.judge(["false"]).tampered == ("uv.lock",)


def test_thousands_of_files_are_frozen_and_come_back(project: Project) -> None:
    for number in range(2_000):
        (project.workspace / "tests" / f"{number}.txt").write_text(str(number))
    frozen = project.freeze("tests")
    assert len(load_frozen(project.oracle).items) == len(frozen.items) == 2_002  # type: ignore[union-attr]


def test_a_folder_in_place_of_a_frozen_file_and_the_other_way_round_are_recorded_anew(project: Project) -> None:
    first = project.frozen
    (project.workspace / "tests/test_add.py").unlink()
    project.write("tests/test_add.py/inner", "")
    frozen = freeze(project.workspace, project.oracle, ["tests"], [], earlier=first)
    assert set(frozen.by_path) == {"tests/__init__.py", "tests/test_add.py/inner"}


def test_what_no_checkpoint_holds_is_laid_without_a_word(project: Project) -> None:
    project.write("tests/large.bin", "as large as it gets")
    project.write("tests/hidden/key", "kept from workers")
    project.freeze("tests")
    project.copies.left = ("large.bin",)
    project.hide = ("tests/hidden",)
    judgement = project.judge(["sh", "-c", "cat tests/large.bin tests/hidden/key; exit 1"])
    assert judgement.tampered == ("tests/large.bin",), "a copy that lacks it, of a checkpoint that should hold it"
    project.copies.lacks = ("tests/large.bin",)
    judgement = project.judge(["sh", "-c", "cat tests/large.bin tests/hidden/key; exit 1"])
    assert judgement.tampered == ()
    assert project.log(judgement) == "as large as it getskept from workers"


@pytest.mark.parametrize("path", ["", ".", "/etc", "../x", "a/../../x", ".git", ".proctor/oracle"])
def test_what_is_not_inside_the_workspace_cannot_be_protected(project: Project, path: str) -> None:
    with pytest.raises(UsageError, match=r"state\.protect: .*: must be a path inside the workspace"):
        project.freeze(path)


def test_what_lies_behind_a_link_cannot_be_protected(project: Project) -> None:
    (project.workspace / "alias").symlink_to("tests")
    with pytest.raises(UsageError, match=r"alias/test_add\.py: lies behind a link"):
        project.freeze("alias/test_add.py")


def test_an_unreadable_or_huge_oracle_refuses_in_one_line(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> str:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(recording.Recorder, "_keep", refuse)
        with pytest.raises(UsageError, match=r"^tests/.*: cannot be frozen: permission denied; make it readable$"):
            project.freeze("tests")
    monkeypatch.setattr(recording, "TOTAL_LIMIT", 10)
    with pytest.raises(UsageError, match="protect less"):
        project.freeze("tests")
    assert not list(project.oracle.glob(".new-*"))


def test_the_same_workspace_gives_the_same_revision_and_an_edit_another(project: Project) -> None:
    first = project.frozen
    assert project.freeze("tests") == first
    project.write("tests/test_add.py", "x")
    second = project.freeze("tests")
    assert second.rev != first.rev
    assert load_frozen(project.oracle) == second
    assert load_frozen(project.oracle, first.rev) == first


def test_a_mode_is_part_of_the_revision(project: Project) -> None:
    first = project.frozen
    (project.workspace / "tests/test_add.py").chmod(0o755)
    assert project.freeze("tests").rev != first.rev


def test_nothing_frozen_loads_as_nothing(tmp_path: Path) -> None:
    assert load_frozen(tmp_path / "oracle") is None


@pytest.mark.parametrize("damage", ["edit", "delete", "manifest", "revision", "current"])
def test_a_damaged_record_is_unrecoverable(project: Project, damage: str) -> None:
    folder = project.frozen.folder
    content = folder / "files" / project.frozen.by_path["tests/test_add.py"].digest
    match damage:
        case "edit":
            content.write_text("x")
        case "delete":
            content.unlink()
        case "manifest":
            (folder / "manifest.json").write_text(
                (folder / "manifest.json").read_text().replace("test_add", "test_bad")
            )
        case "revision":
            shutil.rmtree(folder)
        case "current":
            (project.oracle / "current").write_text("../elsewhere")
    with pytest.raises(Unrecoverable, match="the frozen checks are damaged") as caught:
        load_frozen(project.oracle)
    assert caught.value.word == "oracle"
    assert "\n" not in str(caught.value)


def test_an_interrupted_freeze_leaves_the_old_one_in_force(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    before = project.frozen
    project.write("tests/test_add.py", "x")

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(freezing.os, "rename", fail)
    with pytest.raises(KeyboardInterrupt):
        freeze(project.workspace, project.oracle, ["tests"], [])
    assert load_frozen(project.oracle) == before


@given(st.lists(st.binary(min_size=1, max_size=20).map(os.fsdecode), unique=True))
def test_any_path_survives_the_manifest(paths: list[str]) -> None:
    manifest = encode(items=[], guarded=[], roots=paths, modules=[], imports=[], borrowed=[], skipped=[])
    assert decode(Path(revision(manifest)), manifest).roots == tuple(paths)


def again(project: Project, *protect: str, held: tuple[str, ...] = ()) -> set[str]:
    """Freezes upon what was frozen, as between two runs."""
    project.frozen = freeze(project.workspace, project.oracle, protect, [], earlier=project.frozen, held=held)
    assert load_frozen(project.oracle, project.frozen.rev) == project.frozen
    return names(project)


def text_of(project: Project, path: str) -> str:
    return project.frozen.content(project.frozen.by_path[path]).read_text()


def test_between_runs_only_protected_paths_are_frozen_anew(project: Project) -> None:
    project.write("conftest.py", "# the operator's\n")
    first = project.freeze("tests")
    assert again(project, "tests") == set(first.by_path)
    assert project.frozen.rev == first.rev
    project.write("conftest.py", "# a worker's\n")
    project.write("deep/conftest.py", "import xml\n")
    project.write("xml/__init__.py", "")
    assert again(project, "tests") == set(first.by_path)
    assert project.frozen.rev == first.rev, "what a worker may have written changes nothing"
    project.write("tests/test_add.py", "import json\n")
    project.write("tests/test_more.py", "")
    assert again(project, "tests") == {*first.by_path, "tests/test_more.py"}
    assert text_of(project, "tests/test_add.py") == "import json\n"
    assert text_of(project, "conftest.py") == "# the operator's\n"
    assert "json" in project.frozen.imports
    assert project.frozen.modules == first.modules
    (project.workspace / "tests/test_more.py").unlink()
    assert again(project, "tests") == set(first.by_path)


def test_what_the_contract_protects_no_more_is_let_go_and_what_it_protects_now_is_taken(project: Project) -> None:
    project.write("checks/holds.sh", "one")
    project.freeze("tests")
    assert again(project, "checks") == {"checks/holds.sh"}


def test_what_stood_open_to_a_worker_stays_as_it_was_frozen(project: Project) -> None:
    project.write("Makefile", "all:\n")
    first = project.freeze("tests", "Makefile", "absent")
    for path in ("tests/test_add.py", "tests/new.py", "Makefile", "absent/x"):
        project.write(path, "changed")
    again(project, "tests", "Makefile", "absent", held=("tests", "absent"))
    assert set(project.frozen.by_path) == set(first.by_path)
    assert text_of(project, "Makefile") == "changed"
    assert text_of(project, "tests/test_add.py") != "changed"


def test_what_is_known_to_be_the_operators_is_frozen_anew_and_nothing_else(project: Project) -> None:
    project.write("check.sh", "one")
    project.write("conftest.py", "one")
    project.freeze("tests", checks=[["./check.sh"]])
    for path in ("check.sh", "conftest.py", "noxfile.py"):
        project.write(path, "two")
    mine = {"check.sh", "noxfile.py"}
    project.frozen = freeze(
        project.workspace, project.oracle, ["tests"], [["./check.sh"]], earlier=project.frozen, mine=mine
    )
    assert [text_of(project, path) for path in ("check.sh", "conftest.py", "noxfile.py")] == ["two", "one", "two"]


def test_what_stood_where_a_later_check_starts_is_no_tampering_but_what_a_worker_added_is(
    project: Project, tmp_path: Path
) -> None:
    for path in ("scripts/queue.py", "scripts/verify.py", "ci/verify.py"):
        project.write(path, "import csv, html, queue\n")
    project.freeze("tests")
    project.write("scripts/csv.py", "raise SystemExit  # a worker's\n")
    project.write("ci/html.py", "mine = 1  # the operator's, as is the check\n")
    checks = [["python", "scripts/verify.py"], ["python", "ci/verify.py"]]
    project.frozen = freeze(
        project.workspace, project.oracle, ["tests"], checks, earlier=project.frozen, mine=["ci/html.py"]
    )
    assert {"scripts/verify.py", "ci/verify.py"} <= names(project)
    shutil.copytree(project.workspace, tmp_path / "tree")
    assert undo(tmp_path / "tree", project.frozen) == ("scripts/csv.py",)
    project.write("scripts/verify.py", "raise SystemExit\n")
    project.frozen = freeze(project.workspace, project.oracle, ["tests"], checks, earlier=project.frozen)
    assert text_of(project, "scripts/verify.py").startswith("import"), "named before, so a worker may have written it"


def test_a_check_that_names_the_work_does_not_freeze_it_once_it_is_there(project: Project) -> None:
    checks = [["python", "greet.py"]]
    project.freeze("tests", checks=checks)
    project.write("greet.py", "print('hello')\n")
    project.frozen = freeze(project.workspace, project.oracle, ["tests"], checks, earlier=project.frozen)
    assert "greet.py" not in names(project)


def test_what_a_program_that_is_the_work_imports_is_its_own(project: Project, tmp_path: Path) -> None:
    project.write("app/main.py", "import queue\n")
    checks = [["python", "app/main.py", "2"]]
    frozen = freeze(project.workspace, project.oracle, ["tests"], checks, work=["app/main.py"])
    shutil.copytree(project.workspace, tmp_path / "tree")
    (tmp_path / "tree/app/queue.py").touch()
    assert undo(tmp_path / "tree", frozen) == ()


def test_what_the_operator_entrusts_to_workers_is_neither_frozen_nor_foreign(project: Project, tmp_path: Path) -> None:
    project.write("Makefile", "test:\n\tpytest\n")
    frozen = freeze(project.workspace, project.oracle, ("tests",), (), entrust=("Makefile", "qa"))
    assert "Makefile" not in frozen.by_path
    project.write("Makefile", "test: more\n\tpytest\n")
    project.write("qa/conftest.py", "print()\n")
    project.write("conftest.py", "print()\n")
    assert undo(project.workspace, frozen) == ("conftest.py",)
