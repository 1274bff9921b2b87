"""Undoing: what is laid back, what is removed, and what a worker may rightly change."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from proctor.oracle.tamper import kind, undo
from proctor.words import TamperKind

from .placed import DISHONEST, HONEST, Placed
from .project import Project


@pytest.fixture
def tree(project: Project, tmp_path: Path) -> Path:
    """A copy of the project, as a judge has it."""
    tree = tmp_path / "tree"
    shutil.copytree(project.workspace, tree, symlinks=True)
    return tree


def refreeze(project: Project, tree: Path, *protect: str) -> None:
    project.freeze(*protect)
    shutil.rmtree(tree)
    shutil.copytree(project.workspace, tree, symlinks=True)


def test_an_untouched_tree_stays_untouched(project: Project, tree: Path) -> None:
    assert undo(tree, project.frozen) == ()


@pytest.mark.parametrize("after", [0, 1, 4])
def test_putting_a_tree_right_ends_when_it_is_told_to(project: Project, tree: Path, after: int) -> None:
    calls = iter(range(after))

    def heed() -> None:
        if next(calls, None) is None:
            raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):
        undo(tree, project.frozen, heed=heed)
    assert next(calls, None) is None


def test_honest_work_is_no_tampering(project: Project, tree: Path) -> None:
    (tree / "calc.py").write_text("def add(a, b): return a + b\n")
    for path in ("statistics.py", "csv/table.py", "src/app/types.py", "model.pth", "docs/Makefile", "web/package.json"):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text("x = 1\n")
    (tree / "test_mine.py").write_text("def test(): pass\n")
    assert undo(tree, project.frozen) == ()
    assert (tree / "src/app/types.py").exists()


def test_what_caches_say_was_done_is_dropped_without_a_word(project: Project, tree: Path) -> None:
    project.write("tests/data/.ninja_log", "data of a test\n")
    refreeze(project, tree, "tests")
    for path in (
        ".task/checksum/lint",
        "web/.eslintcache",
        ".mypy_cache/3.11/a.json",
        "a.tsbuildinfo",
        "build/.ninja_log",
    ):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text("x = 1\n")
    assert undo(tree, project.frozen) == ()
    assert [path.name for path in tree.rglob("*") if path.is_file() and path.read_text() == "x = 1\n"] == []
    assert (tree / "tests/data/.ninja_log").exists()


def test_new_tests_may_bring_fixtures_of_their_own_and_nothing_that_reaches_others(
    project: Project, tree: Path
) -> None:
    fixture = "import pytest\n@pytest.fixture\ndef port():\n    return 80\n"
    hook = "def pytest_collection_modifyitems(items):\n    items.clear()\n"
    written = {
        "more/conftest.py": fixture,
        "conftest.py": fixture,
        "tests/conftest.py": fixture,
        "odd/conftest.py": hook,
    }
    for path, text in written.items():
        (tree / path).parent.mkdir(exist_ok=True)
        (tree / path).write_text(text)
    assert undo(tree, project.frozen) == ("conftest.py", "odd/conftest.py", "tests/conftest.py")
    assert (tree / "more/conftest.py").read_text() == fixture


def test_modes_links_and_kinds_are_laid_back(project: Project, tree: Path) -> None:
    project.write("tests/run.sh", "#!/bin/sh\n", 0o755)
    (project.workspace / "tests/link").symlink_to("run.sh")
    project.write("tests/plain.txt", "plain")
    refreeze(project, tree, "tests")
    (tree / "tests/run.sh").chmod(0o644)
    (tree / "tests/link").unlink()
    (tree / "tests/link").symlink_to("plain.txt")
    (tree / "tests/plain.txt").unlink()
    (tree / "tests/plain.txt").mkdir()
    (tree / "tests/plain.txt/inner").touch()
    assert undo(tree, project.frozen) == ("tests/link", "tests/plain.txt", "tests/plain.txt/inner", "tests/run.sh")
    assert os.access(tree / "tests/run.sh", os.X_OK)
    assert os.readlink(tree / "tests/link") == "run.sh"
    assert (tree / "tests/plain.txt").read_text() == "plain"
    assert undo(tree, project.frozen) == ()


def test_modes_that_a_checkpoint_does_not_keep_are_restored_in_silence(project: Project, tree: Path) -> None:
    (project.workspace / "tests/test_add.py").chmod(0o600)
    project.freeze("tests")
    assert undo(tree, project.frozen) == ()
    assert (tree / "tests/test_add.py").stat().st_mode & 0o777 == 0o600


def test_nothing_is_written_through_a_planted_link(project: Project, tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    project.write("tests/deep/er/data", "x")
    refreeze(project, tree, "tests")
    shutil.rmtree(tree / "tests/deep")
    (tree / "tests/deep").symlink_to(outside)
    assert undo(tree, project.frozen) == ("tests/deep", "tests/deep/er/data")
    assert not list(outside.iterdir())
    assert (tree / "tests/deep/er/data").read_text() == "x"


def test_a_file_in_place_of_a_protected_folder_gives_way(project: Project, tree: Path) -> None:
    shutil.rmtree(tree / "tests")
    (tree / "tests").write_text("")
    assert "tests/test_add.py" in undo(tree, project.frozen)
    assert (tree / "tests/test_add.py").is_file()


def test_what_appears_at_a_protected_path_is_removed(project: Project, tree: Path) -> None:
    project.freeze("tests", "golden")
    (tree / "golden").mkdir()
    (tree / "golden/out.txt").write_text("whatever I print")
    assert undo(tree, project.frozen) == ("golden/out.txt",)


PYPROJECT = '[project]\nname = "calc"\ndependencies = []\n\n[tool.pytest.ini_options]\naddopts = "-q"\n'


@pytest.mark.parametrize(
    ("path", "before", "honest", "tampered"),
    [
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace("[]", '["rich"]'), PYPROJECT.replace("-q", "-k nothing")),
        ("pyproject.toml", PYPROJECT, PYPROJECT + "[tool.ruff]\n", PYPROJECT + "[tool.coverage.run]\nomit = ['*']\n"),
        ("pyproject.toml", PYPROJECT, PYPROJECT + "[tool.hatch.build]\n", PYPROJECT + "[tool.hatch.envs.test]\na=1\n"),
        ("pyproject.toml", PYPROJECT, PYPROJECT + "# note\n", PYPROJECT + "this is no toml"),
        ("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = b\n", "[tool:pytest]\naddopts = -k no\n"),
        ("tox.ini", "[flake8]\n", "[flake8]\nmax = 1\n", "[testenv]\ncommands = true\n"),
        (
            "package.json",
            '{"scripts": {"test": "jest"}}',
            '{"scripts": {"test": "jest"}, "dependencies": {"left": "1"}, "description": "javascript"}',
            '{"scripts": {"test": "true"}}',
        ),
        ("package.json", '{"jest": {}}', '{"jest": {}, "version": "2"}', '{"jest": {"testMatch": []}}'),
        ("package.json", "{}", '{"name": "x"}', "[" * 100_000),
    ],
)
def test_shared_files_count_by_the_part_that_tests_read(
    project: Project, tree: Path, path: str, before: str, honest: str, tampered: str
) -> None:
    project.write(path, before)
    refreeze(project, tree, "tests")
    (tree / path).write_text(honest)
    assert undo(tree, project.frozen) == ()
    assert (tree / path).read_text() == honest
    (tree / path).write_text(tampered)
    assert undo(tree, project.frozen) == (path,)
    assert (tree / path).read_text() == before


def test_a_declared_shared_file_counts_to_the_byte(project: Project, tree: Path) -> None:
    project.write("pyproject.toml", PYPROJECT)
    refreeze(project, tree, "pyproject.toml")
    (tree / "pyproject.toml").write_text(PYPROJECT + "# note\n")
    assert undo(tree, project.frozen) == ("pyproject.toml",)


def test_new_shared_files_count_only_with_settings_for_tests(project: Project, tree: Path) -> None:
    for path in ("pyproject.toml", "sub/pyproject.toml", "setup.cfg", "package.json"):
        (tree / path).parent.mkdir(exist_ok=True)
        (tree / path).write_text("{}" if path.endswith("json") else "[project]\n")
    assert undo(tree, project.frozen) == ()
    (tree / "sub/pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = ''\n")
    (tree / "package.json").write_text('{"scripts": {"test": "true"}}')
    assert undo(tree, project.frozen) == ("package.json", "sub/pyproject.toml")


def test_a_module_that_stood_before_the_runner_from_the_start_stays(project: Project, tree: Path) -> None:
    project.write("types.py", "mine = 1\n")
    refreeze(project, tree, "tests")
    (tree / "types.py").write_text("mine = 2\n")
    (tree / "json.py").write_text("")
    assert undo(tree, project.frozen) == ("json.py",)
    assert (tree / "types.py").read_text() == "mine = 2\n"


def test_what_tests_import_from_elsewhere_still_comes_from_there(project: Project, tree: Path) -> None:
    project.write(".venv/pyvenv.cfg", "")
    project.write(".venv/lib/python3.11/site-packages/numpy/__init__.py", "")
    source = (
        "import statistics, numpy.linalg as la\nfrom hypothesis import given\nimport calc\nfrom new_part import x\n"
    )
    project.write("tests/test_more.py", source)
    record = ".venv/lib/python3.11/site-packages/pytest_shop-1.dist-info/entry_points.txt"
    project.write(record, "[pytest11]\nshop = pytest_shop.plugin\n")
    project.freeze("tests", ignored=[".venv"])
    assert {"hypothesis", "numpy", "pytest_shop", "statistics", "unittest"} <= set(project.frozen.imports)
    assert {"calc", "new_part"}.isdisjoint(project.frozen.imports)
    shutil.rmtree(tree / "tests")
    shutil.copytree(project.workspace / "tests", tree / "tests")
    for path in (
        "statistics.py",
        "src/numpy/__init__.py",
        "hypothesis.pyc",
        "calc/__init__.py",
        "new_part.py",
        "csv.py",
        "email/message.py",
        "platform.py",
        "pytest_shop/plugin.py",
        "src/random.py",
    ):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text("")
    assert undo(tree, project.frozen) == (
        *("hypothesis.pyc", "platform.py", "pytest_shop/plugin.py", "src/numpy/__init__.py", "statistics.py"),
    )


def test_a_module_named_like_the_tests_is_in_their_way(project: Project, tree: Path) -> None:
    (tree / "tests.py").touch()
    assert undo(tree, project.frozen) == ("tests.py",)


def test_closed_folders_are_opened(project: Project, tree: Path) -> None:
    (tree / "tests").chmod(0)
    (tree / "shut").mkdir()
    (tree / "shut/conftest.py").write_text("print()\n")
    (tree / "shut").chmod(0o500)
    assert undo(tree, project.frozen) == ("shut/conftest.py",)
    assert (tree / "tests").stat().st_mode & 0o777 == 0o700


def test_deep_trees_and_odd_files_do_no_harm(project: Project, tree: Path) -> None:
    deep = tree
    for _ in range(600):
        deep /= "d"
        os.mkdir(deep)
    (deep / "conftest.py").write_text("print()\n")
    os.mkfifo(tree / "pyproject.toml")
    (tree / "setup.cfg").symlink_to("/dev/zero")
    found = undo(tree, project.frozen)
    assert found == ("d/" * 600 + "conftest.py", "pyproject.toml", "setup.cfg")


def test_a_protected_pipe_that_was_there_before_is_no_tampering_and_a_file_in_its_place_is(
    project: Project, tree: Path
) -> None:
    os.mkfifo(project.workspace / "tests/pipe")
    os.mkfifo(tree / "tests/pipe")
    frozen = project.freeze("tests")
    assert undo(tree, frozen) == ()
    (tree / "tests/pipe").touch()
    assert undo(tree, frozen) == ("tests/pipe",)


def test_what_was_undone_is_told_by_its_kind(project: Project, tree: Path) -> None:
    kinds = {
        "tests/test_add.py": TamperKind.CHANGED,
        "tests/new.py": TamperKind.ADDED,
        "copy/shop/__init__.py": TamperKind.SHADOWS,
        "deep/conftest.py": TamperKind.RUNNER,
    }
    for path in kinds:
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text("print()\n")
    assert {path: kind(path, project.frozen) for path in undo(tree, project.frozen)} == kinds


def test_what_a_make_file_would_include_is_awaited(project: Project, tree: Path) -> None:
    project.write("Makefile", "test:\n\tpytest\ninclude mk/*.make\n-include .env *.d $(wildcard x/*)\n")
    project.write("mk/a.make", "A = 1\n")
    refreeze(project, tree, "tests")
    honest = {"calc.d": "calc.o: calc.h \\\n  add.h\n", "mk/deep/x.make": "", "env/.env": "A=1\n"}
    dishonest = {"mk/z.make": "test:\n\ttrue\n", ".env": "SHELL=/bin/true\n", "z.d": "test:\n\ttrue\n"}
    for path, text in {**honest, **dishonest}.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    (tree / "mk/a.make").write_text("A = 2\n")
    assert set(undo(tree, project.frozen)) == {*dishonest, "mk/a.make"}


@pytest.mark.parametrize("case", [*HONEST, *DISHONEST], ids=lambda case: case.name)
def test_what_is_placed_before_the_work_is_undone_and_nothing_that_only_looks_like_it(case: Placed) -> None:
    assert case.is_right, case.undone()


def test_a_new_link_to_a_folder_is_what_it_makes_of_it(project: Project, tree: Path) -> None:
    project.freeze(checks=[("python", "check.py")])
    for path in ("stuff/__init__.py", "stuff/config.toml", "honest/notes.py", "org/python/core.py"):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).touch()
    for name, target in {"csv": "stuff", ".cargo": "stuff", "docs": "honest", "loop": "loop"}.items():
        (tree / name).symlink_to(target)
    undone = undo(tree, project.frozen)
    assert {".cargo", "csv", "org/python/core.py"} <= set(undone)
    assert (tree / "docs").is_symlink()
    assert (tree / "stuff/__init__.py").exists()
