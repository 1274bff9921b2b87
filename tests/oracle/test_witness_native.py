"""What the witness beside go and cargo takes for said, and what it does not."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from proctor.oracle import gobuild, runners, witness_cargo, witness_go
from proctor.oracle import witness_native as native
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Policy

from .project import Project
from .tools import CARGO

FRAME = "f" * 32
PASSED, FAILED, SKIPPED = native.PASSED, native.FAILED, native.SKIPPED


def events(*lines: object) -> io.BytesIO:
    return io.BytesIO(
        b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    )


def output(text: str, package: str = "p", **more: str) -> dict[str, str]:
    return {"Action": "output", "Package": package, "Output": text, **more}


def followed(*lines: object, aside: tuple[str, ...] = ()) -> dict[str, tuple[str, str]]:
    notes = native.Notes()
    witness_go.follow(events(*lines), FRAME, notes, aside)
    return notes.outcomes


def ended(action: str, package: str = "p") -> dict[str, str]:
    return {"Action": action, "Package": package}


def test_go_only_what_stands_behind_the_frame_is_an_outcome() -> None:
    assert followed(
        output("    calc_test.go:8: wrong sum\n", Test="TestA"),
        output(f"{FRAME} failed TestA\n", Test="TestA"),
        output(f"left without a newline {FRAME} passed TestB/with_more words\n"),
        output(f"{FRAME} skipped TestC\n"),
        {"Action": "pass", "Package": "p", "Test": "TestD"},
        output("--- PASS: TestD (0.00s)\n"),
        output(f"{FRAME} end \n"),
        ended("fail"),
    ) == {
        "p::TestA": (FAILED, "wrong sum"),
        "p::TestB/with_more words": (PASSED, ""),
        "p::TestC": (SKIPPED, ""),
    }


@pytest.mark.parametrize(
    ("lines", "outcomes"),
    [
        ([output(f"{FRAME} passed TestA\n"), ended("pass")], {"p::TestA": PASSED, "p": FAILED}),
        ([output(f"{FRAME} end \n"), ended("pass")], {}),
        ([ended("skip")], {}),
        ([ended("fail")], {"p": FAILED}),
        ([b"FAIL\tp [build failed]\n"], {"p": FAILED}),
        ([b"{" * 100_000 + b"\n", b"\xff\n", b"[]\n", {"Action": 1}, {"Output": "x"}], {}),
        ([{"Action": "fail", "Package": "p", "Test": "T"}, ended("fail")], {"p::T": FAILED}),
        ([{"Action": "fail", "Package": "p", "Test": "T"}, output(f"{FRAME} end \n"), ended("pass")], {}),
        ([output(f"{FRAME} failed T\n"), output(f"{FRAME} passed T\n"), ended("fail")], {"p::T": FAILED}),
    ],
    ids=[
        "left early",
        "no tests",
        "no test files",
        "failed as a whole",
        "not built",
        "no report",
        "panic",
        "printed",
        "told twice",
    ],
)
def test_go_a_package_answers_for_its_tests(lines: list[object], outcomes: dict[str, str]) -> None:
    assert {name: outcome for name, (outcome, _) in followed(*lines).items()} == outcomes


PLANNED = {name: name for name in ("t::a", "t::ab", "t::b c")}


@pytest.mark.parametrize(
    ("log", "outcomes"),
    [
        ("ok t::a\nfailed t::ab\nignored t::b c\n", (PASSED, FAILED, SKIPPED)),
        ("ok t::a\nfailed: it did not\npanic as it should t::ab\nignored: not yet t::b c\n", (PASSED, FAILED, SKIPPED)),
        ("ok t::a\n", (PASSED, FAILED, FAILED)),
        ("", (FAILED, FAILED, FAILED)),
        ("ok t::a\nok t::a\nok t::ab\nok t::b c\nok t::other\n", (FAILED, PASSED, PASSED)),
        ('{"event":"ok","name":"t::a"}\nnonsense\nok\n\nok t::a', (PASSED, FAILED, FAILED)),
    ],
    ids=["plain", "with reasons", "stopped early", "empty", "said twice", "noise"],
)
def test_cargo_each_planned_test_is_logged_once(log: str, outcomes: tuple[str, ...]) -> None:
    rows = witness_cargo.outcomes("p/t", PLANNED, log, "")
    assert [name for name, _, _ in rows] == [f"p/t::{name}" for name in PLANNED]
    assert tuple(outcome for _, outcome, _ in rows) == outcomes


def test_cargo_documentation_tests_are_named_without_their_lines() -> None:
    names = ["src/lib.rs - add (line 12)", "src/lib.rs - add (line 3)", "src/lib.rs - (line 9)"]
    assert witness_cargo.stable(names) == {
        "src/lib.rs - add (line 3)": "src/lib.rs - add",
        "src/lib.rs - (line 9)": "src/lib.rs -",
        "src/lib.rs - add (line 12)": "src/lib.rs - add #2",
    }


def test_cargo_a_failure_is_told_in_its_own_words() -> None:
    said = (
        "\n---- t::a stdout ----\n\nthread 't::a' (9) panicked at src/lib.rs:1:2:\nassertion failed\n  left: -1\n"
        'note: run with `RUST_BACKTRACE=1`\n\n---- t::b stdout ----\nError: "no"\n\nfailures:\n    t::a\n'
    )
    assert witness_cargo.panic(said, "t::a") == "assertion failed left: -1"
    assert witness_cargo.panic(said, "t::b") == 'Error: "no"'
    assert witness_cargo.panic(said, "t::c") == "failed"


def test_the_report_of_the_witness_is_one_that_the_judge_reads() -> None:
    notes = native.Notes()
    notes.add("p::a", FAILED, "no\x1e\x1f way")
    notes.add("p::a", PASSED)
    notes.add("p::\x1eb", PASSED)
    report = runners.read_report(notes.report("s" * 64), "s" * 64)
    assert report == runners.Report({"p::a": "failed", "p::?b": "passed"}, {"p::a": "no?? way"})


def test_a_go_of_the_workspace_builds_no_library_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "go").write_text("#!/bin/sh\n")
    (tmp_path / "go").chmod(0o755)
    assert gobuild.library("go", choose("bwrap"), Policy(workspace=tmp_path)) is None
    assert gobuild.library("go-that-is-not-there", choose("bwrap"), Policy(workspace=tmp_path)) is None
    assert not (tmp_path / "cache").exists()


def _has_cargo() -> bool:
    """Whether there is one, and behind it a toolchain."""
    found = shutil.which("cargo")
    return bool(found) and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not _has_cargo(), reason="no cargo that runs here")
def test_a_real_cargo_is_watched(project: Project) -> None:
    CARGO.write(project)
    project.freeze(CARGO.tests)
    judgement = project.judge(CARGO.run)
    assert judgement.results[0].tests == {CARGO.ids["small"]: "failed", CARGO.ids["zero"]: "passed"}
    assert judgement.failure == "assertion `left == right` failed left: -1 right: 3"
