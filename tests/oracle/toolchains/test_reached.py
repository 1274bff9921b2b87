"""What checks come to of a package's scripts and of a make file."""

from __future__ import annotations

import json
from collections.abc import Mapping

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
