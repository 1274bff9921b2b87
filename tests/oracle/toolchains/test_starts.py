"""Where what a check runs lets Python import from first, as its words and its scripts show. Pure."""

from __future__ import annotations

import shlex

import pytest

from proctor.oracle.toolchains import starts

FOLDERS = {"", "tools", "ci", "ci/lib", "web", "svc", "svc/a", "svc/b", "src", "src/shop", "docs"}
HOMES = FOLDERS - {"src/shop"}
"""All but a package."""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("python tools/check.py --all", {"tools"}),
        ("python tools/check --all", {"tools"}),
        ("uv run python -W error check.py", {""}),
        ("python -m lint src/shop", {""}),
        ("make test", {""}),
        ("timeout 60 make test", {""}),
        ("npm run lint", {""}),
        ("./ci/check.py", {"", "ci"}),
        ("tools/check", {"", "tools"}),
        ("sh ci/check.sh", {""}),
        ("sh -c 'cd tools && python -m lint'", {"", "tools"}),
        ("sh -c 'cd src/shop; python -m lint'", {"", "src/shop"}),
        ("env -C tools python -m lint", {"", "tools"}),
        ("env --chdir=tools python -m lint", {"", "tools"}),
        ("env PYTHONPATH=svc/a:web python check.py", {"", "svc/a", "web"}),
        ("make -C ci/lib", {"", "ci/lib"}),
        ("make -Cci", {"", "ci"}),
        ("make --directory=ci", {"", "ci"}),
        ("git -C tools x", {"", "tools"}),
        ("uv --directory web run check", {"", "web"}),
        ("npm --prefix web test", {"", "web"}),
        ("find svc -name check.py -exec python {} +", {"", "svc"}),
        ("flock /tmp/l python3 ci/lint.py", {"ci"}),
        ("some-launcher -x python3 ci/lint.py", {"ci"}),
        ("python -m pytest", set()),
        ("env -C tools python -m pytest", set()),
        ("ruff check src/app.py", set()),
        ("/usr/bin/true", set()),
    ],
)
def test_where_an_unwatched_check_imports_from_first(line: str, found: set[str]) -> None:
    assert starts.of_check(shlex.split(line)).resolve("", FOLDERS, HOMES) == found


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("Makefile", "test:\n\tcd tools && python -m lint\n", {"tools"}),
        ("Makefile", "test:\n\t$(MAKE) -C src/shop\n", {"src/shop"}),
        ("Makefile", "ALL = a b\ntest:\n\tfor d in $(ALL); do make -C svc/$$d; done\n", {"svc/a", "svc/b"}),
        ("Makefile", "test:\n\tfor d in */; do (cd $$d && python -m lint); done\n", HOMES),
        ("Makefile", "ROOT := $(CURDIR)\ntest:\n\tcd $(ROOT) && mypy src/shop\n# not docs\n", {""}),
        ("ci/run.sh", 'cd "$(dirname "$0")/../tools" && python -m lint', {"tools"}),
        ("ci/run.sh", 'HERE=$(cd "$(dirname "$0")" && pwd)\ncd "$HERE/.." && pushd lib\n', {"", "ci", "ci/lib"}),
        ("ci/run.sh", 'cd "$1"\n', HOMES),
        ("package.json", '{"scripts": {"lint": "npm --prefix ../web run x && cd src/shop"}}', {"src/shop"}),
        ("tox.ini", "[testenv]\nchangedir = svc/a\n", {"svc/a"}),
        ("ci/check.py", "import subprocess\nsubprocess.run(X, cwd='tools')  # 'web'\n", {"tools", "web"}),
        ("ci/check.py", "run([sys.executable, '-m', 'lint'])", {"", "ci"}),
        ("ci/check.py", "run(X, cwd=tmp_path)\nsvc = 1", set()),
        ("ci/check.py", "HERE = Path(__file__).parent\nrun(X, cwd=HERE)", {"", "ci"}),
        ("ci/check.py", "for one in sorted(Path().iterdir()): run(X, cwd=one)", HOMES),
    ],
)
def test_where_what_it_comes_to_leads(path: str, text: str, found: set[str]) -> None:
    assert starts.of_text(path, text).resolve(path.rpartition("/")[0], FOLDERS, HOMES) & FOLDERS == found


def test_a_folder_that_is_still_to_come_is_gone_to_as_well() -> None:
    told = starts.of_text("ci/check.py", "sys.path.insert(0, 'later')")
    assert told.resolve("ci", FOLDERS, HOMES) == {"later", "ci/later"}
