"""The real jest, vitest, go and cargo: what honest work, half work and dishonest work come to."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.oracle.absent import Lack, lack
from proctor.oracle.check import Judgement, compare
from proctor.words import Verdict

from .project import Project
from .tools import CARGO, GO, JEST, TOOLS, VITEST, Tool, lend, packages

pytestmark = pytest.mark.oracle
every = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
node = pytest.mark.parametrize("tool", [JEST, VITEST], ids=lambda tool: tool.name)
PROGRAMS = {"jest": ("node_modules/jest/bin/jest.js",), "vitest": ("node_modules/vitest/vitest.mjs", "run")}
LONG = 180.0
UNFETCHED = (
    replace(
        GO,
        head=GO.head.replace('"testing"', '(\n\t_ "example.org/nosuch"\n\t"testing"\n)'),
        broken_id="example.org/nosuch",
        unloadable="go mod tidy",
    ),
    replace(
        CARGO,
        files={"Cargo.toml": CARGO.files["Cargo.toml"] + '[dev-dependencies]\nnosuch-crate = "1"\n'},
        broken_id="nosuch-crate",
        unloadable="cargo fetch",
    ),
    replace(JEST, name="npx", broken_id="what it needs", unloadable="npm ci"),
)
"""Projects that need what is not on this machine; with its name, and what would bring it."""


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("caches")


@pytest.fixture
def place(tool: Tool, tmp_path: Path, caches: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty project for a runner; skipped where the runner is not there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(caches))
    project = Project(tmp_path)
    if tool in (JEST, VITEST):
        found = packages(tool.name)
        if found is None:
            pytest.skip(f"{tool.name} is not on PATH: npm install {tool.name}, and put node_modules/.bin on PATH")
        lend(project, found)
    elif not shutil.which(tool.name):
        pytest.skip(f"{tool.name} is not on PATH")
    return project


def judge(project: Project, tool: Tool, *run: str) -> Judgement:
    return project.judge(run or tool.run, timeout=LONG)


def freeze(project: Project, tool: Tool) -> None:
    project.freeze(tool.tests, ignored=[name for name in ("node_modules",) if (project.workspace / name).exists()])


@every
def test_what_failed_before_passes_after_and_what_passed_still_must(tool: Tool, place: Project) -> None:
    small, zero = tool.ids["small"], tool.ids["zero"]
    tool.write(place)
    freeze(place, tool)
    before = judge(place, tool)
    assert (before.verdict, before.reason, before.failing) == (Verdict.FAILED, "1 of 2 tests failed", (small,))
    assert before.failure
    assert before.results[0].tests == {small: "failed", zero: "passed"}
    tool.write(place, "+")
    after = judge(place, tool)
    assert (after.verdict, after.reason) == (Verdict.PASSED, "2 tests passed"), place.log(after)
    assert compare(before, after) is after
    tool.write(place, "*")
    assert judge(place, tool).failing == (small,)
    tool.write(place, "+ 1 +")
    assert zero in judge(place, tool).failing


@every
def test_skipped_and_deleted_tests_are_no_pass(tool: Tool, place: Project) -> None:
    small, zero = tool.ids["small"], tool.ids["zero"]
    tool.write(place, "-")
    project, files = place, {}
    freeze(project, tool)
    before = judge(project, tool)
    for tests, how in (({"small": "skipped", "zero": ""}, "test skipped"), ({"zero": ""}, "test disappeared")):
        tool.write_tests(project, **tests)
        freeze(project, tool)
        after = judge(project, tool)
        assert after.verdict is Verdict.PASSED, files
        compared = compare(before, after)
        assert (compared.verdict, compared.failing) == (Verdict.FAILED, (small,))
        assert compared.reason == f"{how}: {small}"
    tool.write_tests(project, small="skipped", zero="skipped")
    freeze(project, tool)
    assert judge(project, tool).reason == "all 2 tests were skipped"
    assert zero in judge(project, tool).results[0].tests


@every
def test_tests_that_cannot_be_loaded_stand_for_what_they_hold(tool: Tool, place: Project) -> None:
    tool.write(place)
    tool.write_tests(place, head=tool.unloadable)
    freeze(place, tool)
    before = judge(place, tool)
    assert (before.verdict, before.failing) == (Verdict.FAILED, (tool.broken_id,)), before
    assert lack(before.results[0], place.workspace, place.frozen, []) is None
    tool.write(place, "+")
    freeze(place, tool)
    after = judge(place, tool)
    assert after.verdict is Verdict.PASSED
    assert compare(before, after) is after


@pytest.mark.parametrize("tool", UNFETCHED, ids=lambda tool: tool.name)
def test_g2_what_was_not_fetched_is_told_from_what_the_work_is_to_bring(tool: Tool, place: Project) -> None:
    tool.write(place)
    freeze(place, tool)
    result = judge(place, tool).results[0]
    lacking = lack(result, place.workspace, place.frozen, ["Write add"])
    assert result.verdict is Verdict.FAILED
    assert result.seconds < LONG / 3
    assert lacking == Lack(f"{tool.broken_id} was not fetched, and a check has no network: run {tool.unloadable}", True)


@every
def test_nothing_run_is_no_pass(tool: Tool, place: Project) -> None:
    tool.write(place, "+")
    tool.write_tests(place)
    freeze(place, tool)
    judgement = judge(place, tool)
    assert judgement.verdict is Verdict.FAILED
    assert not any(outcome == "passed" for outcome in judgement.results[0].tests.values())


@pytest.mark.parametrize(
    ("tool", "how"),
    [(tool, how) for tool in TOOLS for how in tool.forged],
    ids=lambda value: getattr(value, "name", value),
)
def test_what_the_code_prints_and_how_it_leaves_prove_nothing(tool: Tool, how: str, place: Project) -> None:
    tool.write(place)
    place.write(tool.source, tool.forged[how])
    freeze(place, tool)
    judgement = judge(place, tool)
    assert judgement.verdict is Verdict.FAILED, place.log(judgement)
    if judgement.results[0].tests.get(tool.ids["small"]):
        assert judgement.results[0].tests[tool.ids["small"]] == "failed"


@node
@pytest.mark.parametrize(
    "run", ["npm test", "pnpm test", "pnpm exec TOOL", "pnpm TOOL", "yarn test", "npm exec TOOL", "node TOOL"]
)
def test_package_managers_lead_to_the_ids_too(tool: Tool, run: str, place: Project) -> None:
    words = run.split()
    if words[0] in ("pnpm", "yarn"):
        words[0] = f"node_modules/.bin/{words[0]}"
        if not (place.workspace / words[0]).exists():
            pytest.skip(f"{words[0]} is not installed beside {tool.name}")
    if "TOOL" in words:
        words[words.index("TOOL") :] = PROGRAMS[tool.name] if words[0] == "node" else tool.run[1:]
    tool.write(place)
    freeze(place, tool)
    judgement = judge(place, tool, *words)
    assert judgement.results[0].tests == {tool.ids["small"]: "failed", tool.ids["zero"]: "passed"}, place.log(judgement)


@node
def test_success_by_exit_code_does_not_hide_failed_tests(tool: Tool, place: Project) -> None:
    tool.write(place)
    place.write("green.cjs", "process.reallyExit = ((leave) => () => leave.call(process, 0))(process.reallyExit);\n")
    freeze(place, tool)
    judgement = judge(place, tool, "node", "--require", "./green.cjs", *PROGRAMS[tool.name])
    assert "exit code" not in judgement.reason
    assert judgement.failing == (tool.ids["small"],)


@node
def test_only_hides_no_test(tool: Tool, place: Project) -> None:
    tool.write(place, "+")
    freeze(place, tool)
    before = judge(place, tool)
    tests = place.workspace / tool.tests
    tests.write_text(tests.read_text().replace("test('small'", "test.only('small'"))
    freeze(place, tool)
    assert compare(before, judge(place, tool)).verdict is Verdict.FAILED
