"""What could stand in for a recipe is known, and what an honest build leaves is made anew."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from proctor.oracle.freeze import freeze
from proctor.oracle.made import disown
from proctor.oracle.toolchains import makes


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("test: .tested\n.tested:\n\tpytest\n", {".tested"}),
        ("out/ok: a.c\n\tpytest\n", {"out/ok"}),
        ("test.unit test/unit:\n\tpytest\n", {"test.unit", "test/unit"}),
        ("whole: # quick = no\n\tpytest\n", {"whole"}),
        ("T = unit\n$(T):\n\tpytest\n", {"unit"}),
        ("T := a b\nT += c\n$(T:%=t-%): x; pytest\n", {"t-a", "t-b", "t-c"}),
        ("$(addprefix check-,a b):\n\tpytest\n", {"check-a", "check-b"}),
        ("unit:\nifdef CI\n\tpytest\nendif\n", {"unit"}),
        ("unit: MODE = quick\n\n.PHONY: all\n.c.o:\n\tcc $<\nall: unit\n", set()),
        ("build:\n\t@mkdir -p $@\nout: ; mkdir out\nlog: ; mkdir log && pytest\n", {"log"}),
        (".deps: x\n\t.venv/bin/pip install -r x\n\t@touch $@\n.ok:\n\tpip install x\n\tpytest\n", {".ok"}),
        ("x := a:b\nexport y = c:d\ncheck-%:\n\tpytest\n", set()),
    ],
)
def test_goals_are_the_targets_with_a_recipe_whatever_they_are_called(text: str, found: set[str]) -> None:
    assert set(makes.goals(text.encode())) == found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (["make", "-C", "sub", "-j4", "unit", "X=1"], ["sub/unit"]),
        (["timeout", "60", "gmake", "-f", "x.mk", "check-app"], ["check-app"]),
        (["sh", "-c", "cd a && make lint test; echo done"], ["lint", "test"]),
        (["make", "-Ca", "-C", "b", "--file=x", "lint"], ["a/b/lint"]),
        (["python", "make.py", "unit"], []),
    ],
)
def test_goals_that_a_command_asks_for(command: list[str], found: list[str]) -> None:
    assert list(makes.asked(command)) == found


def test_make_files_that_a_command_names() -> None:
    assert list(makes.files(["sh", "-c", "make -fx -C sub --makefile=y -k unit"])) == ["x", "sub/y"]


def test_what_make_includes_is_told_by_its_variables() -> None:
    text = "O := a.o b.o\nD ?= deps\ninclude $(O:.o=.d) $(wildcard $(D)/*.mk)\n"
    text += "\t-include $(shell ls)/x # y\nt:\n\tincluded z\n"
    assert list(makes.included(text.encode())) == ["a.d", "b.d", "deps/*.mk", "*/x"]


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("a.o: a.c a.h\n\na.h:\n", True),
        ("# made\n.deps/a.o b.o: a.c \\\n  ../b/a.h\n", True),
        (".IGNORE:\n", False),
        ("a.o .ONESHELL: a.c\n", False),
        ("include evil.x\n", False),
        ("-include evil : x\n", False),
        ("define SHELL\n/bin/true\nendef\n", False),
        ("a.o: a.c; true\n", False),
        ("a.o: a.c\n\ttrue\n", False),
        ("SHELL = true\n", False),
        ("export a: b\n", False),
        ("%.o: x\n", False),
    ],
)
def test_what_compilers_write_of_dependencies_does_no_more(text: str, harmless: bool) -> None:
    assert makes.only_depends(text.encode()) is harmless


MAKEFILE = """\
all: app check-app
app: main.o
\tcat $^ > app
%.o: %.c
\tcat $< > $@
check-%:
\tgrep -q good app
obj: ; mkdir obj
%.pb: %.proto
\tcat $< > $@
"""


def test_what_a_worker_built_or_placed_does_not_stand_in_for_a_recipe(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "Makefile").write_text(MAKEFILE)
    (tree / "old.pb").write_text("kept")
    (tree / "old.proto").write_text("")
    frozen = freeze(tree, tmp_path / "oracle", [], [["make", "all"]])
    (tree / "goals.mk").write_text(f".PHONY: {' '.join(frozen.goals)}\n")
    environment = {**os.environ, "MAKEFILES": "goals.mk"}

    def ends(**files: str) -> int:
        for name, text in files.items():
            (tree / name.replace("_", ".").replace("0", "-")).write_text(text)
        disown(tree, frozen)
        return subprocess.run(["make", "-s", "all"], cwd=tree, env=environment, check=False).returncode

    assert "app" in frozen.goals
    assert ends(main_c="bad", main_o="good", app="good", check0app="", all="") != 0
    (tree / "check-app").mkdir()
    (tree / "check-utils").mkdir()
    (tree / "check-app/notes").write_text("")
    (tree / "check-utils/notes").write_text("the work")
    assert ends(main_c="bad", main_o="good", app="good") != 0
    assert (tree / "check-utils/notes").read_text() == "the work"
    (tree / "obj").mkdir()
    assert ends(main_c="good", main_o="stale", new_pb="the work") == 0
    assert (tree / "main.o").read_text() == "good"
    assert (tree / "new.pb").read_text() == "the work"
    assert (tree / "old.pb").stat().st_mtime > 1


@pytest.mark.parametrize(
    "text",
    [
        "SUITES := $(shell echo a.ok)\ncheck: $(SUITES)\n$(SUITES): app.sh\n\tsh app.sh && touch $@\n",
        "define suite\n$(1).ok: app.sh\n\tsh app.sh && touch $$@\ncheck: $(1).ok\nendef\n"
        "check:\n$(foreach s,a,$(eval $(call suite,$(s))))\n",
    ],
)
def test_nor_for_one_whose_name_only_a_run_knows(tmp_path: Path, text: str) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "Makefile").write_text(text)
    (tree / "app.sh").write_text("exit 1\n")
    frozen = freeze(tree, tmp_path / "oracle", [], [["make", "check"]])
    (tree / "app.sh").write_text("exit 2\n")
    (tree / "a.ok").write_text("")
    (tree / "new.py").write_text("the work")
    disown(tree, frozen)
    assert subprocess.run(["make", "-s", "check"], cwd=tree, capture_output=True, check=False).returncode
    assert (tree / "new.py").read_text() == "the work"


def test_what_cmake_remembers_of_a_build_goes_unless_it_stood_at_the_start(tmp_path: Path) -> None:
    workspace, left = tmp_path / "workspace", ["build/CMakeCache.txt", "old/CTestTestfile.cmake"]
    for path in ("CMakeLists.txt", "was/CMakeCache.txt", "mine/CMakeCache.txt"):
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_text("x\n")
    (workspace / "mine/CMakeCache.txt").unlink()
    frozen = freeze(workspace, tmp_path / "oracle", [], [["ctest", "--test-dir", "build"]], entrust=["mine"])
    for path in (*left, "mine/CMakeCache.txt", "build/app"):
        (workspace / path).parent.mkdir(exist_ok=True)
        (workspace / path).write_text("x\n")
    disown(workspace, frozen)
    assert not any((workspace / path).exists() for path in left)
    for path in ("was/CMakeCache.txt", "mine/CMakeCache.txt", "build/app", "CMakeLists.txt"):
        assert (workspace / path).exists()
    (workspace / "CMakeLists.txt").unlink()
    plain = freeze(workspace, tmp_path / "plain", [], [["make"]])
    (workspace / "CMakeCache.txt").write_text("x\n")
    disown(workspace, plain)
    assert (workspace / "CMakeCache.txt").exists()
