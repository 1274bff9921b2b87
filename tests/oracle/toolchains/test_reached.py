"""What checks come to of a package's scripts and of a make file."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from proctor.oracle.toolchains.reached import Texts, without_others

MAKE = """CC := cc
.PHONY: test docs

test: app
	sh verify.sh
	$(MAKE) stage

# what is built
app: app.c
	$(CC) -o app app.c

stage: ; cp app stage

docs: site
	mkdocs build

site:
	mkdir site
"""
SCRIPTS = {
    "test": "npm run compile && jest",
    "compile": "tsc",
    "build": "npm run pack",
    "pack": "tar",
    "start": "node .",
}


def same(path: str, before: str, after: str, *commands: str, files: Mapping[str, bytes] | None = None) -> bool:
    """Whether checks come to the same of two versions of a file; not where that cannot be told."""
    texts = Texts(commands, files or {})
    was, now = (without_others(path, text.encode(), texts) for text in (before, after))
    return was is not None and was == now


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("mkdocs build", "mkdocs build --strict", True),
        ("docs: site\n\tmkdocs build\n", "", True),
        ("site:\n\tmkdir site\n", "site:\n\tmkdir site\nclean:\n\trm -rf site\n", True),
        (".PHONY: test docs", ".PHONY: test clean", True),
        (".PHONY: test docs", ".PHONY: test docs stage", False),
        (".PHONY: test docs", ".PHONY: docs", False),
        ("sh verify.sh", "true", False),
        ("$(CC) -o app app.c", "touch app", False),
        ("app: app.c", "app: app.c docs", False),
        ("cp app stage", "true", False),
        ("# what is built", "# what is built of C\n", True),
        ("site:\n", "site:\n\tmkdir site\nCC := true\n", False),
        ("site:\n", "site:\n\tmkdir site\ninclude more.mk\n", False),
        ("site:\n", "site:\n\tmkdir site\n%: %.c\n\ttrue\n", False),
        ("site:\n", "site:\n\tmkdir site\nMakefile:\n\ttrue\n", False),
        ("site:\n", "site:\n\tmkdir site\napp:\n\ttouch app\n", False),
        ("site:\n", "site:\n\tmkdir site\n.DEFAULT:\n\ttrue\n", False),
        ("site:\n", "site:\n\tmkdir site\ncheck-all:\n\ttrue\n", False),
        ("mkdir site", "mkdir site \\\\\\\\\nCC := true", False),
        ("mkdocs build", "mkdocs build \\\n  --strict", True),
        ("CC := cc\n", "docs:\n\ttrue\nCC := cc\n", False),
        ("	sh verify.sh\n", "clean:\n	sh verify.sh\n", False),
    ],
)
def test_a_target_that_no_check_comes_to_is_the_worker_s(old: str, new: str, is_same: bool) -> None:
    assert old in MAKE
    assert same("Makefile", MAKE, MAKE.replace(old, new, 1), "make test") is is_same


@pytest.mark.parametrize(
    ("command", "file", "text", "is_same"),
    [
        ("make docs", "", "", False),
        ("make", "", "", True),
        ("sh run.sh", "run.sh", "make -C . docs", False),
        ("sh run.sh", "run.sh", 'make "$1"', False),
        ("make $GOAL", "", "", False),
        ("sh run.sh", "run.sh", "echo docs", True),
        ("make test", "more.mk", "app: docs\n", False),
        ("pytest", "tests/test_a.py", "run(['make', 'docs'])", False),
    ],
)
def test_a_target_is_reached_by_its_name_in_what_may_start_it(
    command: str, file: str, text: str, is_same: bool
) -> None:
    files = {file: text.encode()} if file else {}
    assert same("Makefile", MAKE, MAKE.replace("mkdocs build", "true"), command, files=files) is is_same


@pytest.mark.parametrize(
    ("change", "command", "is_same"),
    [
        ({"build": "tsc -p ."}, "npm test", True),
        ({"build": "tsc -p ."}, "python -m unittest", True),
        ({"pack": "zip"}, "npm test", True),
        ({"pack": "zip"}, "npm run build", False),
        ({"start": "true"}, "npm restart", False),
        ({"compile": "true"}, "npm test", False),
        ({"test": "true"}, "python -m unittest", False),
        ({"precompile": "true"}, "npm test", False),
        ({"lint": "true"}, "npm test", False),
        ({"build:css": "sass"}, "npm run build", False),
        ({"build:*": "sass"}, "npm test", False),
        ({"build": "tsc -p ."}, "sh -c 'npm run $WHICH'", False),
        ({"build": "npm run $WHICH"}, "npm test", False),
    ],
)
def test_a_script_that_no_check_comes_to_is_the_worker_s(change: dict[str, str], command: str, is_same: bool) -> None:
    before, after = (json.dumps({"scripts": scripts}) for scripts in (SCRIPTS, SCRIPTS | change))
    assert same("package.json", before, after, command) is is_same


@pytest.mark.parametrize("text", ["{}", "[]", "", '{"scripts": "x"}', '{"scripts": {"a": 1}}', "\ud800"])
def test_a_package_that_cannot_be_read_in_parts_stays_whole(text: str) -> None:
    assert without_others("package.json", text.encode(errors="surrogatepass"), Texts(["npm test"], {})) is None


def test_a_make_file_that_cannot_be_read_in_parts_stays_whole() -> None:
    for text in ("\ttrue\n", "a:\nb = 1\n\ttrue\n", "define x\nendef\n", "$(A): b\n", "a:\n\t$(MAKE) $@\n"):
        assert without_others("Makefile", text.encode(), Texts(["make"], {})) is None


PLAIN = """CC ?= cc
FLAGS = -Wall
PROGRAM = app

all: app

app: app.c
	cp app.c app

test: app
	sh tests/run.sh $(TRUST) ${MORE} $Q

dist:
	tar czf app.tar.gz app.c

.PHONY: all test
"""


@pytest.mark.parametrize(
    "more",
    [
        "install: app\n\tinstall -D app $(DESTDIR)/usr/bin/app\n",
        "prepare:\n\tpip install x\n\nuninstall:\n\trm -f /usr/bin/app\n",
        "run: app\n\t./app 1 2\n",
        "sh: app\n\t./app\n",
        "VERSION := 1.0\n",
        "VERSION = $(shell git describe)\nNAME ?= app\nNAME += x\n",
        "VERSION := 1.0\n\ndist-all: dist\n\techo $(VERSION)\n\n.PHONY: dist-all run\n",
        "NAME := app\nARCHIVE := $(NAME)-1.tar.gz\n",
        "debug: FLAGS += -g\ndebug: app\n",
        "PROGRAM = other\n",
    ],
)
def test_targets_and_variables_that_nothing_comes_to_may_come(more: str) -> None:
    assert same("Makefile", PLAIN, f"{PLAIN}\n{more}", "make test")


@pytest.mark.parametrize(
    "more",
    [
        "TRUST := || true\n",
        "MORE = ; true\n",
        "Q = ; true\n",
        "TRUST :=\\\n || true\n",
        "WHY := || true\nTRUST := $(WHY)\n",
        "  TRUST = || true\n",
        "override TRUST = || true\n",
        "test: TRUST = || true\n",
        "app: FLAGS = -g\n",
        "SHELL := /bin/true\n",
        ".SHELLFLAGS = -n -c\n",
        "MAKEFLAGS += -i\n",
        "VPATH = old\n",
        "GPATH = old\n",
        "CC := true\n",
        "LDLIBS = -lx\n",
        "PATH := bin:$(PATH)\n",
        "HOME := x\n",
        "PYTEST_ADDOPTS = -k x\n",
        "PYTHONPATH = x\n",
        "export MODE = quick\n",
        "MODE = quick\nexport\n",
        "MODE = quick\nexport \\\n\n",
        "MODE = quick\nexport MODE\n",
        "MODE = quick\n.EXPORT_ALL_VARIABLES:\n",
        "MODE := $(shell cp app.c tests/run.sh)\n",
        "MODE != cp app.c tests/run.sh\n",
        "MODE = $(shell cp app.c tests/run.sh)\nWHICH := $(MODE)\n",
        "debug: MODE := $(shell cp app.c tests/run.sh)\n",
        "debug: MODE = x\n\tTRUST = || true\n",
        "app:\n\ttouch app\n",
        "./app:\n\ttouch app\n",
        "app run:\n\ttouch app\n",
        "test:\n\ttrue\n",
        "test::\n\ttrue\n",
        "%: %.c\n\ttrue\n",
        ".SILENT:\n",
        ".IGNORE:\n",
        ".PHONY: app\n",
        "include more.mk\n",
        ".DEFAULT_GOAL := dist\n",
        "define TRUST\n|| true\nendef\n",
    ],
)
def test_what_a_check_comes_to_is_kept(more: str) -> None:
    assert not same("Makefile", PLAIN, f"{PLAIN}\n{more}", "make test")


def test_a_name_that_is_computed_may_be_any_variable_s() -> None:
    for by in ("$($(BY))", "$($(BY)_X)", "${F$(BY)}", "$(value $(BY))", "$(filter-out x,$(.VARIABLES))"):
        text = PLAIN.replace("$(TRUST)", by)
        assert not same("Makefile", text, f"{text}\nVERSION := 1.0\n", "make test")
        assert same("Makefile", text, f"{text}\ninstall: app\n\tcp app x\n", "make test")


@pytest.mark.parametrize(
    ("command", "file", "text", "is_same"),
    [
        ("make test VERSION=2", "", "", False),
        ("make test run", "", "", False),
        ("make -C . ./run", "", "", False),
        ("sh tests/run.sh", "tests/run.sh", "make -s run", False),
        ("sh tests/run.sh", "tests/run.sh", "make -s test", True),
        ("make test", "more.mk", "X = $(VERSION)\n", False),
        ("make test", "more.mk", "X = $($(Y))\n", False),
        ("make test", "more.mk", "export\n", False),
        ("make test", "more.mk", "X = 1\n", True),
        ("make test", "more.mk", "include config.inc\n", False),
    ],
)
def test_targets_and_variables_are_reached_from_elsewhere_by_their_names(
    command: str, file: str, text: str, is_same: bool
) -> None:
    after = f"{PLAIN}\nVERSION := 1.0\n\nrun: app\n\t./app\n"
    assert same("Makefile", PLAIN, after, command, files={file: text.encode()} if file else {}) is is_same


def test_what_is_expanded_at_once_may_do_what_another_make_file_says() -> None:
    for more, is_same in (("AB := $(NAME)\n", False), ("AB += $(NAME)\n", False), ("AB = $(NAME)\n", True)):
        files = {"more.mk": b"X = 1\n"}
        assert same("Makefile", PLAIN, f"{PLAIN}\n{more}", "make test", files=files) is is_same


def test_the_words_of_a_recipe_are_targets_where_it_calls_make() -> None:
    after = f"{PLAIN}\nrun:\n\ttrue\n"
    for recipe, is_same in (("sh -e run", True), ("$(MAKE) run", False), ("make a.out run", False)):
        was, now = (text.replace("sh tests/run.sh", recipe) for text in (PLAIN, after))
        assert same("Makefile", was, now, "make test") is is_same
    was, now = (text.replace("test: app", "test: run.out") for text in (PLAIN, after))
    assert not same("Makefile", was, now, "make test")


def test_what_checks_have_in_their_environment_is_kept() -> None:
    held = "BUNDLE_RETRY CI COLORTERM GOCACHE HOME LANG NO_COLOR R_PROFILE_USER RUSTUP_HOME VIRTUAL_ENV npm_config_x"
    for name in held.split():
        assert not same("Makefile", PLAIN, f"{PLAIN}\n{name} = x\n", "make test")


@pytest.mark.parametrize(
    ("more", "turns"),
    [
        ("install: app\n\tcp app x\n", False),
        ("run: app\n\t./app\n", False),
        ("VERSION := 1.0\n", False),
        ("debug: TRUST = || true\ndebug: app\n", False),
        ("TRUST = || true\n", True),
        ("Q = ; true\n", True),
        ("test: TRUST = || true\n", True),
        ("SHELL = /bin/true\n", True),
        ("MAKEFLAGS += -n\n", True),
        ("export MODE = quick\n", True),
        ("MODE = quick\nexport\n", True),
        ("MODE = quick\n.EXPORT_ALL_VARIABLES:\n", True),
        ("HOME = quick\n", True),
        ("OTHER := $(shell echo exit 0 > tests/run.sh)\n", True),
        ("debug: OTHER := $(shell echo exit 0 > tests/run.sh)\n", True),
        ("debug: OTHER = x\n\tTRUST = || true\n", True),
        ("test:\n\ttrue\n", True),
        (".IGNORE:\n", True),
    ],
)
def test_what_turns_the_real_make_is_kept_and_what_does_not_is_not(tmp_path: Path, more: str, turns: bool) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "app.c").write_text("")
    (tmp_path / "tests/run.sh").write_text('test "$MODE$HOME" = quick || test "$HOME" = quick\n')
    (tmp_path / "Makefile").write_text(f"{PLAIN}\n{more}")
    env = {"PATH": os.environ["PATH"], "HOME": ""}
    run = subprocess.run(["make", "test"], cwd=tmp_path, env=env, capture_output=True, check=False)
    assert (run.returncode == 0) is turns
    assert same("Makefile", PLAIN, f"{PLAIN}\n{more}", "make test") is not turns
