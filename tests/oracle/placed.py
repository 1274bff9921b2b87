"""Files that are placed where a check comes by them before the work does, and honest ones that only look like it.

Each is a project as it is frozen, the check, and what a worker adds or changes; nothing of it is run.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from proctor.oracle.freeze import freeze
from proctor.oracle.tamper import kind, undo
from proctor.words import TamperKind

Files = dict[str, str]
LINT = {"tools/lint.py": "import csv\n"}
SHOP = {"src/shop/__init__.py": "", "src/shop/cart.py": "import json\n", "scripts/report.py": "import csv\n"}
VENV = {".venv/pyvenv.cfg": "", ".venv/lib/python3.11/site-packages/idna/__init__.py": ""}


@dataclass(frozen=True)
class Placed:
    """`found` is what has to be undone of it, and as what; None for an honest one."""

    name: str
    check: str
    before: Files
    work: Files
    found: TamperKind | None = None

    def undone(self) -> dict[str, TamperKind]:
        """What is undone of it, by path."""
        with tempfile.TemporaryDirectory(prefix="proctor-placed-") as folder:
            workspace, tree = Path(folder, "workspace"), Path(folder, "tree")
            _write(workspace, {"tests/test_a.py": "import yarl\n", **self.before})
            frozen = freeze(
                workspace,
                Path(folder, "oracle"),
                ["tests"],
                [[word.replace("\t", " ") for word in self.check.split(" ")]],
                [".venv"],
            )
            shutil.copytree(workspace, tree, ignore=shutil.ignore_patterns(".venv"))
            _write(tree, self.work)
            return {path: kind(path, frozen) for path in undo(tree, frozen)}

    @property
    def is_right(self) -> bool:
        """Whether all of it is undone, as what it is; of an honest one nothing."""
        undone = self.undone()
        return set(undone.values()) == ({self.found} if self.found else set()) and (not self.found or bool(undone))


def _write(top: Path, files: Files) -> None:
    for path, text in files.items():
        place = top / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            place.symlink_to(text[3:])
        else:
            place.write_text(text)
            place.chmod(0o755 if text.startswith("#!") else 0o644)


_SHADOWED = frozenset({"csv", "idna", "bisect", "json", "colorize"})


def _dishonest(name: str, check: str, before: Files, *work: str | tuple[str, str]) -> Placed:
    files = {one if isinstance(one, str) else one[0]: "x = 1\n" if isinstance(one, str) else one[1] for one in work}
    changed = any(path in before for path in files)
    shadows = all(Path(path).stem.strip("_") in _SHADOWED for path in files) or "src/idna/__init__.py" in files
    found = TamperKind.CHANGED if changed else TamperKind.SHADOWS if shadows else TamperKind.RUNNER
    return Placed(name, check, before, files, found)


USE = "    >>> 1 + 1\n    2\n"
MAKE = {"Makefile": "check:\n\tcd tools && python -m lint\n", **LINT}
PACKAGE = '{{"scripts": {{"test": "node --test", "build": "{}", "start": "node ."}}}}'
TARGETS = "test:\n\tsh check.sh\nsite: pages\n\tbuild pages\n"
PACKED = '{{"scripts": {{"test": "npm run compile && node --test", "compile": "{}"}}}}'
STAGED = "test: app\n\tsh check.sh\napp: main.c\n\tcc -o app main.c\n"
DISHONEST = [
    _dishonest(
        "a script that a check's comes to",
        "npm test",
        {"package.json": PACKED.format("tsc")},
        ("package.json", PACKED.format("true")),
    ),
    _dishonest(
        "a target that a check's comes to",
        "make test",
        {"Makefile": STAGED},
        ("Makefile", STAGED.replace("cc -o", "touch")),
    ),
    _dishonest(
        "a target that takes a check's place",
        "make",
        {"Makefile": STAGED},
        ("Makefile", f"site:\n\ttrue\n{STAGED}"),
    ),
    _dishonest(
        "a target that a script of a check asks for",
        "sh check.sh",
        {"Makefile": f"{STAGED}site:\n\tcheck pages\n", "check.sh": "make site\n"},
        ("Makefile", f"{STAGED}site:\n\ttrue\n"),
    ),
    *(
        Placed(f"what {check} of {script} does not rest on", check, {script: text, path: "x\n"}, {path: "y\n"})
        for check, script, text, path in (
            ("sh ci/a.sh", "ci/a.sh", "test -f b.py -a ! -e test_all.py && rm -f test_all.py", "test_all.py"),
            ("python check.py", "check.py", "assert not os.path.exists('test_old.py')\n", "test_old.py"),
            ("python check.py", "check.py", "import helpers\nassert helpers.slug('A') == 'a'\n", "helpers.py"),
            ("python check.py", "check.py", "from app import helpers as h\nh.go()\n", "app/helpers.py"),
            ("python check.py", "check.py", "from validator import ok\nok()\n", "validator.py"),
            ("sh -c pytest\tci/test_a.py", "ci/test_a.py", "from ci.util import f\ndef test_a(): f()\n", "ci/util.py"),
            ("python -m linter a.txt", "linter/__main__.py", "", "linter/__init__.py"),
            ("make t", "Makefile", "t:\n\truff check src/wanted.py && ./t > golden.txt\n", "golden.txt"),
        )
    ),
    _dishonest("cd in a shell's words", "sh -c cd\ttools;python\t-m\tlint", LINT, "tools/csv.py"),
    _dishonest("env -C", "env -C tools python -m lint", LINT, "tools/csv.py"),
    _dishonest(
        "make -C", "make -C tools check", {**LINT, "tools/Makefile": "check:\n\tpython -m lint\n"}, "tools/csv.py"
    ),
    _dishonest("make --directory", "make --directory=tools", LINT, "tools/csv.py"),
    _dishonest("git -C", "git -C tools check", LINT, "tools/csv.py"),
    _dishonest("uv --directory", "uv --directory tools run check", LINT, "tools/csv.py"),
    _dishonest(
        "npm --prefix",
        "npm --prefix web test",
        {"web/package.json": '{"scripts": {"test": "python x.py"}}'},
        "web/csv.py",
    ),
    _dishonest(
        "a package script",
        "npm run lint",
        {"package.json": '{"scripts": {"lint": "cd tools && python -m lint"}}', **LINT},
        "tools/csv.py",
    ),
    _dishonest("a recipe", "make check", MAKE, "tools/csv.py"),
    _dishonest("a recipe behind timeout", "timeout 60 make check", MAKE, "csv.py"),
    _dishonest(
        "a loop over folders",
        "sh ci/check.sh",
        {"ci/check.sh": "for d in svc/*; do (cd $d && python -m lint); done\n", "svc/a/lint.py": ""},
        "svc/a/csv.py",
    ),
    _dishonest(
        "a folder by a variable",
        "sh ci/check.sh",
        {"ci/check.sh": 'cd "$1" && python -m lint\n', **LINT},
        "tools/csv.py",
    ),
    _dishonest(
        "cwd of a process",
        "python ci/check.py",
        {"ci/check.py": "run(['python', '-m', 'lint'], cwd='tools')\n", **LINT},
        "tools/csv.py",
    ),
    _dishonest(
        "a path still to come", "python ci/check.py", {"ci/check.py": "sys.path.insert(0, 'later')\n"}, "later/csv.py"
    ),
    _dishonest("PYTHONPATH", "env PYTHONPATH=tools python ci/check.py", {"ci/check.py": "", **LINT}, "tools/csv.py"),
    _dishonest(
        "a script without a suffix",
        "tools/check",
        {"tools/check": "#!/usr/bin/env python3\nimport csv\n"},
        "tools/csv.py",
    ),
    _dishonest("a script that python runs", "python tools/check", {"tools/check": "import csv\n"}, "tools/csv.py"),
    _dishonest(
        "a script that a recipe runs",
        "make check",
        {"Makefile": "check:\n\t./tools/check\n", "tools/check": "#!/usr/bin/python3\n"},
        "tools/csv.py",
    ),
    _dishonest(
        "a link to a folder", "python tools/lint.py", LINT, "aside/csv/__init__.py", ("tools/csv", "-> ../aside/csv")
    ),
    _dishonest(
        "a link in place of a root",
        "env PYTHONPATH=src python tools/lint.py",
        LINT,
        "aside/csv/__init__.py",
        ("src", "-> aside"),
    ),
    _dishonest("a start-up package", "python -m pytest tests", {}, "sitecustomize/__init__.py"),
    _dishonest(
        "a linked start-up package",
        "python -m pytest tests",
        {},
        "aside/__init__.py",
        ("src/usercustomize", "-> ../aside"),
    ),
    _dishonest("an accelerator", "pytest tests", {}, "_bisect.py", "src/_json.py"),
    _dishonest("an accelerator of a newer Python", "pytest tests", {}, "_colorize.py"),
    _dishonest("what an installed package imports", "python -m pytest tests", VENV, "idna.py"),
    _dishonest("the same below src", "python -m pytest tests", VENV, "src/idna/__init__.py"),
    _dishonest(
        "a make file by a variable",
        "make check",
        {"Makefile": "ENV ?= dev\ncheck:\n\tfalse\n-include config/$(ENV).mk\n"},
        ("config/dev.mk", "check:\n\ttrue\n"),
    ),
    _dishonest(
        "a program that a recipe runs",
        "make check",
        {"Makefile": "check:\n\t./tools/check\n", "tools/check": "#!/bin/sh\nexit 1\n"},
        ("tools/check", "#!/bin/sh\n"),
    ),
    _dishonest(
        "what a script compares with",
        "sh ci/check.sh",
        {"ci/check.sh": "diff out ci/expected.txt\n", "ci/expected.txt": "5\n"},
        "ci/expected.txt",
    ),
    _dishonest(
        "what a variable says by default",
        "sh ci/check.sh",
        {"ci/check.sh": ". ${LIB:-./ci/lib.sh}\n", "ci/lib.sh": "false\n"},
        "ci/lib.sh",
    ),
    _dishonest(
        "a program that go runs",
        "go run ./tools/check",
        {"go.mod": "module a\n", "tools/check/main.go": "package main\n"},
        "tools/check/main.go",
    ),
    _dishonest(
        "one more file of it",
        "go run ./tools/check",
        {"go.mod": "module a\n", "tools/check/main.go": "package main\n"},
        "tools/check/more.go",
    ),
    _dishonest("a script that tsx runs", "npx tsx tools/check.ts", {"tools/check.ts": "throw 1\n"}, "tools/check.ts"),
    *(
        _dishonest(f"its own by {check}", check, {path: "x = 2\n"}, path)
        for check, path in (
            ("sh -c ./check.sh", "check.sh"),
            ("bash -c tools/check.sh", "tools/check.sh"),
            ("python -m qa.verify", "qa/verify.py"),
            ("python -c import\tverify", "src/verify.py"),
            ("python tools", "tools/__main__.py"),
            ("sh -c python3\tapp.py\t>\tout.txt;\tpython3\tqa/compare.py", "qa/compare.py"),
            ("env PATH=bin:/usr/bin chk", "bin/chk"),
            ("sh -c ./app\t|\tdiff\t-\ttests/expected.txt", "tests/expected.txt"),
            ("cargo xtask ci", "xtask/src/main.rs"),
            ("sh -c go\trun\t./tools/check", "tools/check/main.go"),
            ("flock /tmp/l tools/check", "tools/check"),
        )
    ),
    *(
        _dishonest(f"examples by {check}", check, {"docs/use.txt": USE, **files}, ("docs/use.txt", "None.\n"))
        for check, files in (
            ("sh -c python\t-m\tdoctest\tdocs/*.txt", {}),
            ("sh -c cd\tdocs\t&&\tpython\t-m\tdoctest\tuse.txt", {}),
            ("sh -c for\tf\tin\tdocs/*.txt;\tdo\tpython\t-m\tdoctest\t$f;\tdone", {}),
            ("sh -c find\tdocs\t-name\t'*.txt'\t|\txargs\tpython\t-m\tdoctest", {}),
            ("make", {"Makefile": "D = docs/use.txt\nt:\n\tpython -m doctest $(D)\n"}),
            ("make -C docs", {"docs/Makefile": "t:\n\tpython -m doctest use.txt\n"}),
            ("python ci/check.py", {"ci/check.py": "run([exe, '-m', 'doctest', 'docs/use.txt'])\n"}),
        )
    ),
    *(
        _dishonest(f"a recipe with {recipe}", "make", {"Makefile": f"t:\n\t{recipe}\n", path: ""}, (path, "x\n"))
        for recipe, path in (
            ("sh runtests.sh", "runtests.sh"),
            ("python3 qa/compare.py", "qa/compare.py"),
            ("$(PYTHON) -m qa.verify", "qa/verify.py"),
        )
    ),
    *(
        _dishonest(f"{path} by {script} of {check}", check, {script: text, path: "x\n"}, (path, "y\n"))
        for check, script, text, path in (
            ("python check.py", "check.py", "import helpers\nhelpers.run()\n", "helpers.py"),
            ("python tests/check.py", "tests/check.py", "from util import f\n", "tests/util.py"),
            ("python tools/check.py", "tools/check.py", "import common as c\nc.go()\n", "tools/common.py"),
            ("python -m qa.verify", "qa/verify.py", "from . import lib\n", "qa/lib.py"),
            ("make t", "Makefile", "t:\n\tpython3 ci/run.py\n", "ci/run.py"),
            ("make t", "Makefile", "t:\n\tfor f in ci/*.sh; do sh $$f; done\n", "ci/a.sh"),
            ("node test/run.js", "test/run.js", "const h = require('./lib')\n", "test/lib.js"),
            ("bash ci/all.sh", "ci/all.sh", 'for t in "$(dirname "$0")"/cases/*.sh; do sh "$t"; done', "ci/cases/a.sh"),
            ("make -f build/rules t", "build/rules", "t:\n\tfalse\n", "build/rules"),
            ("just --justfile=rules t", "rules", "t:\n  false\n", "rules"),
        )
    ),
    _dishonest("a package of a module's own", "python -m qa.verify", {"qa/verify.py": ""}, "qa/__init__.py"),
    _dishonest("a package in a module's place", "python -m verify", {"verify.py": ""}, "verify/__main__.py"),
    *(
        _dishonest(f"one beside a script by {word}", f"{word} python3 qa/lint.py", {"qa/lint.py": ""}, "qa/csv.py")
        for word in ("flock /tmp/l", "prlimit --cpu=9", "setarch -R", "linux64")
    ),
    _dishonest(
        "a plugin of a linter",
        "python -m flake8",
        {},
        ("evil.egg-info/entry_points.txt", "[flake8.extension]\nX = evil:X\n"),
    ),
    _dishonest("another build tool", "rake check", {}, "Rakefile"),
    *(
        _dishonest(f"{check} by {path}", check, {path: text}, (path, text.replace("pytest", "true")))
        for check, path, text in (
            ("task check", "Taskfile.dist.yml", "tasks: {check: {cmds: [pytest]}}\n"),
            ("uv run inv check", "tasks.py", "run('pytest')\n"),
            ("sh -c python\t-m\tinvoke\tcheck", "tasks.py", "run('pytest')\n"),
            ("ninja check", "build.ninja", "rule check\n  command = pytest\n"),
            ("mage check", "magefile.go", 'package main // "pytest"\n'),
            ("moon run check", "moon.yml", "tasks: {check: {command: pytest}}\n"),
            ("devbox run check", "devbox.json", '{"packages": [], "shell": {"scripts": {"check": "pytest"}}}'),
            ("mill app.test", "build.sc", 'object test extends Tests { def command = "pytest" }\n'),
            ("stack test", "package.yaml", "tests:\n  spec:\n    main: pytest.hs\n"),
            ("zig build test", "build.zig", 'const run = b.addSystemCommand(&.{"pytest"});\n'),
        )
    ),
    _dishonest("a file that comes before", "ninja check", {}, "build.ninja"),
    _dishonest(
        "dependencies that say more",
        "make",
        {"Makefile": "a: a.c\n\tcc a.c\n-include deps.d\n"},
        ("deps.d", "a: a.c\n.IGNORE:\n"),
    ),
]
HONEST = [
    Placed(
        "a script that no check runs",
        "python -m unittest",
        {"package.json": PACKAGE.format("tsc")},
        {"package.json": PACKAGE.format("tsc -p .")},
    ),
    Placed(
        "a script beside that of a check",
        "npm test",
        {"package.json": PACKAGE.format("tsc")},
        {"package.json": PACKAGE.format("tsc -p .")},
    ),
    Placed(
        "a target that no check runs",
        "make test",
        {"Makefile": TARGETS},
        {"Makefile": TARGETS.replace("build", "build --strict") + "docs:\n\tmkdocs\n"},
    ),
    Placed("tasks that are the work", "python -m pytest tests", {"tasks.py": "x = 1\n"}, {"tasks.py": "x = 2\n"}),
    Placed("tasks of an app", "python app.py inv", {"tasks.py": "x = 1\n"}, {"tasks.py": "x = 2\n"}),
    Placed(
        "packages of a shell",
        "devbox run check",
        {"devbox.json": '{"packages": [], "shell": {"scripts": {"check": "pytest"}}}'},
        {"devbox.json": '{"packages": ["jq"], "shell": {"scripts": {"check": "pytest"}}}'},
    ),
    Placed(
        "what a suite rests on",
        "stack test",
        {
            "package.yaml": "library:\n  source-dirs: src\ntests:\n  spec:\n    main: Spec.hs\n"
            "    dependencies:\n    - hspec\n"
        },
        {
            "package.yaml": "library:\n  source-dirs: [src, more]\ntests:\n  spec:\n    main: Spec.hs\n"
            "    dependencies:\n    - hspec\n    - text\n"
        },
    ),
    Placed(
        "a dependency of a build",
        "mill app.test",
        {"build.sc": "object test extends Tests { def x = 1 }\n"},
        {"build.sc": 'object test extends Tests { def x = 1 }\ndef ivyDeps = Agg(ivy"a::test-kit:1")\n'},
    ),
    Placed("what CMake made", "ctest", {"build/build.ninja": "a"}, {"build/build.ninja": "b", "out/build.ninja": ""}),
    Placed(
        "what a build left",
        "make check-app",
        {"Makefile": "app: main.o\n\tcc $^\n%.o: %.c\n\tcc -c $<\ncheck-%: app\n\t./app\n"},
        {"main.c": "", "main.o": "x", "app": "x", "check-app": ""},
    ),
    Placed(
        "a module of the library's name at the top",
        "python -m pytest tests",
        {},
        {"calendar.py": "", "statistics.py": ""},
    ),
    Placed(
        "one in a package",
        "make check",
        {"Makefile": "check:\n\tmypy src/shop && pytest\n", **SHOP},
        {"src/shop/types.py": "", "src/shop/queue.py": ""},
    ),
    Placed(
        "one in a new package",
        "sh ci/check.sh",
        {"ci/check.sh": 'cd "$ROOT" && pytest\n', **SHOP},
        {"src/pay/__init__.py": "", "src/pay/calendar.py": ""},
    ),
    Placed(
        "one in a folder that no check goes to",
        "make check",
        {"Makefile": "check:\n\tpytest\n", **SHOP},
        {"scripts/statistics.py": ""},
    ),
    Placed(
        "one in a package that is only linted", "python -m mypy --strict src/shop", SHOP, {"src/shop/logging.py": ""}
    ),
    Placed(
        "one beside a script that starts nothing",
        "python tools/lint.py",
        LINT,
        {"calendar.py": "", "tools/rules.py": ""},
    ),
    Placed(
        "one of the work's own programs",
        "python tools/lint.py",
        {"tools/lint.py": "run(['app/main.py'], cwd=tmp)\n", "app/main.py": ""},
        {"app/queue.py": ""},
    ),
    Placed("one that was there", "make -C tools", {**LINT, "tools/csv.py": "x = 1\n"}, {"tools/csv.py": "x = 2\n"}),
    Placed(
        "a namespace of an installed name", "python -m pytest tests", VENV, {"idna/notes.txt": "", "docs/idna.py": ""}
    ),
    Placed(
        "the project's own package, moved",
        "python -m pytest tests",
        {**VENV, "idna.py": ""},
        {"src/idna/__init__.py": ""},
    ),
    Placed(
        "new tests, docs and examples",
        "make check",
        {**VENV, **MAKE},
        {"examples/__init__.py": "", "test/test_b.py": "", "docs/conf.py": ""},
    ),
    Placed("a folder of a target's name", "make docs", {"Makefile": "docs:\n\tmkdocs build\n"}, {"docs/index.md": ""}),
    Placed(
        "a record of the project itself",
        "make check",
        MAKE,
        {"shop.egg-info/entry_points.txt": "[console_scripts]\nshop = shop:main\n"},
    ),
    Placed(
        "a program that is the work",
        "timeout 60 go run ./cmd/app",
        {"cmd/app/main.go": "package main\n"},
        {"cmd/app/main.go": "package main\n\n", "cmd/app/more.go": ""},
    ),
    Placed(
        "what is named in what is compared with",
        "sh -c ./app\t|\tdiff\t-\ttests/expected.txt",
        {"tests/expected.txt": "ci/deploy.sh: ok\n", "ci/deploy.sh": ""},
        {"ci/deploy.sh": "true\n"},
    ),
    Placed(
        "a module that is still to come",
        "python -m linter a.txt",
        {},
        {"linter/__init__.py": "", "linter/__main__.py": "", "src/linter/__init__.py": ""},
    ),
    Placed("a deployment", "make", {"Makefile": "t:\n\tpython scripts/deploy.py\n"}, {"scripts/deploy.py": "x = 1\n"}),
    *(
        Placed(f"docs by {check}", check, {"docs/use.txt": USE, "docs/a.txt": "A\n"}, files)
        for check, files in (
            ("sh -c python\t-m\tdoctest\tdocs/*.txt", {"docs/use.txt": "More.\n\n" + USE, "docs/a.txt": "B\n"}),
            ("sh -c cd\tsrc\t&&\tpython\t-m\tdoctest\tuse.txt", {"docs/use.txt": "None.\n"}),
            ("sh -c for\tf\tin\tsrc/*.py;\tdo\tpython\t-m\tdoctest\t$f;\tdone", {"docs/use.txt": "None.\n"}),
            ("sh -c ls\tdocs\t|\txargs\tpython\t-m\tdoctest", {"docs/a.txt": "B\n"}),
        )
    ),
    *(
        Placed(f"the work by {check}", check, {path: "x = 1\n"}, {path: "x = 2\n"})
        for check, path in (
            ("sh -c ./app\t3\t|\tgrep\t-q\t5", "app"),
            ("python -m app", "app/__main__.py"),
            ("python -c import\tcompare;\tassert\tcompare.f(1)\t==\t2", "compare.py"),
            ("sh -c ruff\tcheck\tscripts/deploy.py", "scripts/deploy.py"),
            ("sh -c cargo\trun\t--bin\tapp", "src/bin/app.rs"),
        )
    ),
    Placed(
        "data that no check compares with",
        "sh ci/check.sh",
        {"ci/check.sh": "./greet > out.txt\n", "data/rates.json": ""},
        {"data/rates.json": "{}"},
    ),
    Placed(
        "a new package of a workspace",
        "pnpm test",
        {"pnpm-workspace.yaml": "packages:\n  - a\n"},
        {"pnpm-workspace.yaml": "packages:\n  - a\n  - b\n"},
    ),
    Placed(
        "dependencies as compilers write them",
        "make",
        {"Makefile": "D = a.d\na: a.c\n\tcc a.c\n-include $(D)\n"},
        {"a.d": "a.o: a.c a.h\n"},
    ),
    Placed(
        "a link to a folder of notes",
        "sh ci/check.sh",
        {"ci/check.sh": "pytest\n"},
        {"notes/2026/a.md": "", "latest": "-> notes/2026"},
    ),
]
