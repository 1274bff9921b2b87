"""What argv starts, and how it is run watched."""

from __future__ import annotations

import shlex

import pytest

from proctor.oracle.toolchains.commands import Kind, named_paths, recognise, watched


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("python -m unittest", "python /door/w.py unittest"),
        (
            "python3.12 -W error -X dev -m unittest -v tests.test_a",
            "python3.12 -W error -X dev /door/w.py unittest -v tests.test_a",
        ),
        (".venv/bin/python -m unittest discover", ".venv/bin/python /door/w.py unittest discover"),
        ("coverage run -m unittest", "coverage run /door/w.py unittest"),
        ("uv run python -m unittest -q", "uv run python /door/w.py unittest -q"),
        ("pytest -q tests", "pytest -p w -q tests"),
        ("/opt/venv/bin/py.test", "/opt/venv/bin/py.test -p w"),
        ("python -m pytest tests/a.py::b", "python /door/w.py pytest tests/a.py::b"),
        ("python .venv/bin/pytest", "python .venv/bin/pytest -p w"),
        ("coverage run --branch -m pytest", "coverage run --branch /door/w.py pytest"),
        ("poetry run pytest", "poetry run pytest -p w"),
        ("env A=1 timeout 60 pytest", "env A=1 timeout 60 pytest -p w"),
        ("env PYTHONPATH=src pytest", "env PYTHONPATH=/door pytest -p w"),
        ("env PYTHONPATH=. python -m pytest", "env PYTHONPATH=/door python /door/w.py pytest"),
    ],
)
def test_runners_are_recognised_behind_their_launchers(line: str, becomes: str) -> None:
    argv = shlex.split(line)
    runner = recognise(argv)
    assert runner is not None
    assert shlex.join(watched(argv, runner, "/door", "w", "python")) == becomes


@pytest.mark.parametrize(
    "line",
    [
        "make test",
        "grep pytest README",
        "python tool.py -m unittest",
        "python -c pytest",
        "echo -m unittest",
        "npm test",
        "npm test && jest",
        "echo jest",
        "node -e jest",
        "npx -p jest other",
        "go build ./...",
        "go vet test",
        "cargo build",
        "cargo nextest run",
        "cargo --config x test",
        "grep go test",
        "pytest --collect-only -q tests",
        "uv run python -m pytest --co",
        "npx jest --listTests",
        "go test -run ^$ ./...",
        "go test -c ./cmd",
        "cargo test --no-run --workspace",
    ],
)
def test_other_commands_are_not_taken_for_runners(line: str) -> None:
    assert recognise(shlex.split(line)) is None


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("./check.sh a.py", ["./check.sh"]),
        ("bash -e check.sh a.py", ["check.sh"]),
        ("node --test", []),
        ("ruff check a.py", []),
        ("npx jest --config=j.js t/a.test.js", ["j.js", "t/a.test.js"]),
    ],
)
def test_a_checks_own_files_are_named(line: str, named: list[str]) -> None:
    assert list(named_paths(shlex.split(line))) == named


JEST = "--reporters=default --reporters=/door/w.cjs"
VITEST = "--reporter=default --reporter=/door/w.cjs"


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("jest", f"jest {JEST}"),
        ("npx jest -i tests", f"npx jest -i tests {JEST}"),
        ("npx --no-install jest -- tests", f"npx --no-install jest {JEST} -- tests"),
        ("npx jest --reporters=jest-junit", "npx jest --reporters=jest-junit --reporters=/door/w.cjs"),
        ("node_modules/.bin/vitest run", f"node_modules/.bin/vitest run {VITEST}"),
        ("node --expose-gc node_modules/jest/bin/jest.js", f"node --expose-gc node_modules/jest/bin/jest.js {JEST}"),
        ("node -r ./x.js jest.js", f"node -r ./x.js jest.js {JEST}"),
        ("node node_modules/vitest/vitest.mjs run", f"node node_modules/vitest/vitest.mjs run {VITEST}"),
        ("npx cross-env A=1 jest", None),
        ("env A=1 timeout 9 jest", f"env A=1 timeout 9 jest {JEST}"),
        ("npm exec jest", f"npm exec jest -- {JEST}"),
        ("npm exec jest -- tests", f"npm exec jest -- tests {JEST}"),
        ("npm exec -- jest tests", f"npm exec -- jest tests {JEST}"),
        ("pnpm exec vitest run", f"pnpm exec vitest run {VITEST}"),
        ("yarn jest", f"yarn jest {JEST}"),
        ("npm test", f"npm test -- {JEST}"),
        ("npm t -- -i", f"npm t -- -i {JEST}"),
        ("npm -s run unit", f"npm -s run unit -- {VITEST}"),
        ("npm run test", f"npm run test -- {JEST}"),
        ("npm unit", None),
        ("pnpm test", f"pnpm run test {JEST}"),
        ("pnpm t -i", f"pnpm run test -i {JEST}"),
        ("pnpm unit a.test.js", f"pnpm run unit a.test.js {VITEST}"),
        ("yarn run typed", f"yarn run typed {JEST}"),
        ("npm run junit", "npm run junit -- --reporters=/door/w.cjs"),
        ("npm run masked", None),
        ("npm run after", None),
        ("npm run piped", None),
        ("npm run filled", None),
        ("npm run nested", None),
        ("npm run gone", None),
        ("npm --prefix web test", None),
        ("npm install", None),
        ("npm", None),
    ],
)
def test_node_runners_are_told_of_our_reporter_where_further_arguments_reach_them(
    line: str, becomes: str | None
) -> None:
    scripts = {
        "test": "NODE_ENV=test jest",
        "unit": "vitest run",
        "typed": "tsc --noEmit && cross-env A=1 npx jest",
        "junit": "jest --reporters=jest-junit",
        "masked": "jest || true",
        "after": "jest; echo done",
        "piped": "jest | tee log",
        "filled": "jest $(cat list)",
        "nested": "npm run test",
    }
    argv = shlex.split(line)
    runner = recognise(argv, scripts)
    assert (runner and shlex.join(watched(argv, runner, "/door", "w", "python"))) == becomes


@pytest.mark.parametrize(
    ("line", "kind", "at"),
    [
        ("go test ./...", Kind.GO, 1),
        ("/usr/local/go/bin/go test", Kind.GO, 1),
        ("env A=1 go -C sub test -race", Kind.GO, 5),
        ("cargo test --workspace", Kind.CARGO, 1),
        ("cargo +nightly -q t", Kind.CARGO, 3),
        ("timeout 60 cargo --locked test -- --nocapture", Kind.CARGO, 4),
    ],
)
def test_go_and_cargo_are_run_by_a_witness_that_knows_where_its_options_go(line: str, kind: Kind, at: int) -> None:
    argv = shlex.split(line)
    runner = recognise(argv)
    assert runner
    assert runner.kind is kind
    ours = ("python", "-I", "-S", "/door/w.pyz", kind.split()[0], str(at))
    assert watched(argv, runner, "/door", "w", "python") == (*ours, *argv)
