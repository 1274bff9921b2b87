"""Data that checks take whatever there is of it: what is gone comes back, and what is otherwise the worker's stays."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from proctor.oracle.freeze import freeze
from proctor.oracle.tamper import kind, undo
from proctor.oracle.toolchains import cases
from proctor.words import TamperKind

from ..project import Project

SHELL = "for f in tests/golden/*.in; do ./app < $f | diff - ${f%.in}.out; done\n"
FILES = {
    "tests/golden/a.in": "a",
    "tests/golden/a.out": "A",
    "tests/golden/b.in": "b",
    "tests/golden/b.out": "B",
    "cases/1.json": "[1]",
    "cases/deep/2.json": "[2]",
    "src/one.json": "{}",
    "src/app.py": "",
    "locales/de.json": "{}",
}


def undone(project: Project, path: str, text: str, *gone: str, check: str = "make test") -> set[str]:
    for name, content in {**FILES, path: text}.items():
        project.write(name, content)
    frozen = project.freeze(path, checks=[check.split(" ", 2)])
    tree = project.workspace.parent / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(project.workspace, tree)
    for name in gone:
        (tree / name).unlink()
    found = undo(tree, frozen)
    assert all(kind(one, frozen) is TamperKind.CHANGED for one in found)
    assert all((tree / one).read_text() == FILES[one] for one in found)
    return set(found)


@pytest.mark.parametrize(
    ("path", "text", "gone"),
    [
        ("run-tests.sh", SHELL.replace("./app", "cat"), {"tests/golden/b.in"}),
        ("run-tests.sh", "for f in tests/golden/*; do cat $f; done\n", {"tests/golden/b.in", "tests/golden/b.out"}),
        ("Makefile", "test:\n\tfor f in cases/*.json; do cat $$f; done\n", {"cases/1.json"}),
        ("check/all.py", "for f in Path('cases').glob('*.json'): print(f)\n", {"cases/1.json"}),
        ("check/all.py", "for f in (HERE.parent / 'cases').rglob('*.json'): print(f)\n", {"cases/deep/2.json"}),
        ("check/all.py", "for f in glob.glob(f'{HERE}/cases/**/*.json', recursive=True): 0\n", {"cases/deep/2.json"}),
        ("check/all.py", "for f in os.listdir('tests/golden'): open(f)\n", {"tests/golden/a.out"}),
        ("check/all.js", "for (const f of fs.readdirSync('./cases')) load(f)\n", {"cases/1.json"}),
        ("tests/golden_test.go", 'files, _ := filepath.Glob("golden/*.in")\n', {"tests/golden/a.in"}),
    ],
)
def test_what_a_check_takes_all_of_comes_back_where_it_is_gone(
    project: Project, path: str, text: str, gone: set[str]
) -> None:
    assert undone(project, path, text, *gone) == gone


@pytest.mark.parametrize(
    ("path", "text", "gone"),
    [
        ("run-tests.sh", "for f in src/*.json locales/*; do lint $f; done\n", "locales/de.json"),
        ("check/all.py", "for f in Path('src').iterdir(): compile(f)\n", "src/app.py"),
        ("check/all.py", "assert open('cases/1.json').read()\n", "cases/deep/2.json"),
        ("check/all.py", "'a * b/c.json', 'cases'\n", "cases/1.json"),
    ],
)
def test_what_may_be_the_work_may_go(project: Project, path: str, text: str, gone: str) -> None:
    assert undone(project, path, text, gone) == set()


def test_a_command_takes_data_as_well(project: Project) -> None:
    check = "sh -c for f in cases/*.json; do cat $f; done"
    assert undone(project, "tests/x", "", "cases/1.json", check=check) == {"cases/1.json"}


@pytest.fixture
def tree(project: Project, tmp_path: Path) -> Path:
    for name, content in FILES.items():
        project.write(name, content)
    project.write("run-tests.sh", SHELL)
    project.freeze(checks=[["sh", "run-tests.sh"]])
    return Path(shutil.copytree(project.workspace, tmp_path / "tree"))


def test_data_may_be_another_and_may_have_another_name(project: Project, tree: Path) -> None:
    (tree / "tests/golden/a.in").rename(tree / "tests/golden/first.in")
    (tree / "tests/golden/b.in").write_text("more")
    (tree / "tests/golden/c.in").write_text("new")
    assert undo(tree, project.frozen) == ()


@pytest.mark.parametrize(("name", "is_there"), [("case_b.json", True), ("old_a.json", False), (".case_a.json", False)])
def test_another_name_has_to_be_one_that_the_pattern_takes(project: Project, name: str, is_there: bool) -> None:
    project.write("tests/cases/case_a.json", "[1]")
    project.write("run-tests.sh", "for f in tests/cases/case_*.json; do cat $f; done\n")
    frozen = project.freeze(checks=[["sh", "run-tests.sh"]])
    tree = Path(shutil.copytree(project.workspace, project.workspace.parent / "tree"))
    (tree / "tests/cases/case_a.json").rename(tree / "tests/cases" / name)
    assert undo(tree, frozen) == (() if is_there else ("tests/cases/case_a.json",))


def test_a_name_that_no_check_finds_a_link_and_a_folder_stand_for_none(project: Project, tree: Path) -> None:
    (tree / "tests/golden/a.in").rename(tree / "tests/golden/a.in.bak")
    (tree / "tests/golden/b.in").unlink()
    (tree / "tests/golden/b.in").symlink_to("/dev/null")
    assert undo(tree, project.frozen) == ("tests/golden/a.in", "tests/golden/b.in")
    shutil.rmtree(tree / "tests/golden")
    (tree / "tests/golden").symlink_to("/tmp")
    assert undo(tree, project.frozen) == ("tests/golden/a.in", "tests/golden/b.in")
    assert (tree / "tests/golden/b.in").read_text() == "b"


def test_a_check_may_write_to_such_data_and_entrusted_data_may_go(project: Project, tree: Path) -> None:
    assert project.judge(["sh", "-c", "echo more >> tests/golden/a.in"]).reason == "exit code 0"
    frozen = freeze(project.workspace, project.oracle, [], [["sh", "run-tests.sh"]], entrust=["tests/golden"])
    assert frozen.cases == ()


def test_what_an_earlier_set_holds_of_data_stays_unless_the_operator_changed_it(project: Project, tree: Path) -> None:
    (project.workspace / "tests/golden/a.in").unlink()
    project.write("tests/golden/z.in", "a worker's")
    checks = [["sh", "run-tests.sh"]]
    kept = freeze(project.workspace, project.oracle, [], checks, earlier=project.frozen)
    assert kept.case_paths == project.frozen.case_paths == {"tests/golden/a.in", "tests/golden/b.in"}
    theirs = {"tests/golden/a.in", "tests/golden/z.in"}
    frozen = freeze(project.workspace, project.oracle, [], checks, earlier=kept, mine=theirs)
    assert frozen.case_paths == {"tests/golden/b.in", "tests/golden/z.in"}


def test_a_source_is_a_case_only_where_nothing_else_lies() -> None:
    assert cases.is_case("tests/cases/a.py")
    assert cases.is_case("tests/data/a.csv")
    assert not cases.is_case("tests/a.py")
    assert not cases.is_case("tests/cases/__init__.py")
    assert not cases.is_case("cases.json")
