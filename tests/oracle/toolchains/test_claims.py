"""What a check's command names as its own: what is run, imported, built or compared with, however it comes to it."""

from __future__ import annotations

import shlex

import pytest

from proctor.oracle.toolchains import claims


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("sh -c ./check.sh", "check.sh"),
        ("bash -c ./verify.sh", "verify.sh"),
        ("timeout 9 bash -euc tools/check.sh", "tools/check.sh"),
        ("python -m qa.verify", "qa/verify.py"),
        ("python -Im qa.verify", "qa/verify/__main__.*"),
        ("python -m qa.verify", "qa/__init__.*"),
        ("python -m verify --all", "verify.py"),
        ("uv run -m checks", "src/checks/__main__.*"),
        ("python -c 'import verify'", "verify.py"),
        ("python -c 'from qa import lint; lint.main()'", "qa/lint.py"),
        ("env PYTHONPATH=tools python -m verify", "tools/verify.py"),
        ("sh -c 'export PYTHONPATH=ci:lib; python -m verify'", "ci/verify.py"),
        ("python tools", "tools/__main__.*"),
        ("sh -c 'python3 app.py > out.txt; python3 qa/compare.py'", "qa/compare.py"),
        ("sh -c 'python3 app.py 2>&1 && python3 tools/compare.py'", "tools/compare.py"),
        ("sh -c 'cd qa && ./x'", "qa/x"),
        ("sh -c 'bash -c ./check.sh'", "check.sh"),
        ("env PATH=bin:/usr/bin chk", "bin/chk"),
        ("sh -c 'export PATH=\"$PWD/bin:$PATH\"; if ! chk; then false; fi'", "bin/chk"),
        ("sh -c './app 3 | diff - tests/expected.txt'", "tests/expected.txt"),
        ("sh -c 'diff <(./app 3) tests/three.txt'", "tests/three.txt"),
        ("cmp out.txt expected.txt", "expected.txt"),
        ("cargo xtask ci", "xtask/src/*.rs"),
        ("sh -c 'cargo run -q --bin=verify'", "src/bin/verify.rs"),
        ("cargo run -p checker", "crates/checker/src/*.rs"),
        ("sh -c 'go run -race ./tools/check x'", "tools/check/*.go"),
        ("flock /tmp/l python3 qa/lint.py", "qa/lint.py"),
        ("flock /tmp/l tools/check", "tools/check"),
        ("sh -c '. qa/env; app'", "qa/env"),
        ("bats qa/cli.bats", "qa/cli.bats"),
        ("sh -c './app | awk -f tools/sum.awk'", "tools/sum.awk"),
        ("uv run check.py", "check.py"),
        ("prove -l t/add.t", "t/add.t"),
        ("python3 -Wdefault -umverify", "verify.py"),
        ("sh -c 'exec \"$@\"' _ ./verify.sh", "verify.sh"),
        ("sh -c '\"$0\" ok' ./verify.sh", "verify.sh"),
        ("bash -euxo pipefail verify.sh", "verify.sh"),
        ("sh -c '\"$(pwd)\"/verify.sh'", "verify.sh"),
        ("find checks -name *.sh -exec sh {} ;", "checks/*.sh"),
        ("run-parts ci", "ci/*"),
        ("valgrind ./verify", "verify"),
        ("sh -c 'D=qa; sh $D/all ${D}/x'", "qa/all"),
        ("node -e \"require('./qa/check.js')\"", "qa/check.js"),
        ("sh -c 'python - <<E\nfrom qa import check\nE'", "qa/check.py"),
        ("sh -c 'sqlite3 db < tests/check.sql | grep ok'", "tests/check.sql"),
        ("check-jsonschema --schemafile tests/out.json out.json", "tests/out.json"),
        ("sh -c 'cd ci && make -f rules t'", "ci/rules"),
    ],
)
def test_a_check_claims_what_judges(line: str, path: str) -> None:
    assert path in claims.named(shlex.split(line))


@pytest.mark.parametrize(
    "line",
    [
        "sh -c './app 3 | grep -q 5'",
        "sh -c 'python3 app.py > expected.txt; test -s expected.txt'",
        "sh -c 'python3 -m app < in.txt && src/run.sh'",
        "python -m app",
        "python -m json.tool out.json",
        "python -c 'import compare; assert compare.f(1) == 2'",
        "env PYTHONPATH=src python -m app 2 3",
        "ruff check src/expected.py scripts/deploy.py",
        "sh -c 'ruff check scripts/deploy.py'",
        "sh -c './app | awk -f src/sum.awk | sed s/tests.x/y/'",
        "diff src/a.txt src/b.txt",
        "cargo run --bin app",
        "go run ./cmd/app tests",
        "go vet ./...",
        "sh -c 'npx prettier --check tests/run.js; ./app > tests/out.txt'",
        "sh -c '[ ! -e test_all.py ] && ./app'",
        "python -c 'import os; assert not os.path.exists(\"tests/old.py\")'",
    ],
)
def test_and_nothing_that_may_be_the_work(line: str) -> None:
    assert claims.named(shlex.split(line)) <= {"."}


def test_what_no_shell_can_read_is_still_looked_at() -> None:
    assert "qa/check.py" in claims.named(["sh", "-c", "echo it's; python qa/check.py"])
