"""The question whether tests moved, put to two real checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.checkpoint.repository import Store
from proctor.oracle.bench import CheckResult
from proctor.oracle.check import Judgement, compare
from proctor.oracle.freeze import freeze
from proctor.oracle.moves.ask import Moves
from proctor.oracle.runners import Outcome
from proctor.words import Verdict

TEST = "from calc import speed\n\n\ndef test_speed():\n    assert speed(12) == 43\n"
TEST += "\n\ndef test_none():\n    assert speed(0) == 7\n"
PASSED, SKIPPED = Outcome.PASSED, Outcome.SKIPPED


def judgement(commit: str, **tests: Outcome) -> Judgement:
    result = CheckResult(
        ("pytest",), Verdict.PASSED, "2 tests passed", tests={k.replace("__", "::"): v for k, v in tests.items()}
    )
    return Judgement(Verdict.PASSED, "2 tests passed", results=(result,), commit=commit)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "w" / "m").mkdir(parents=True)
    for path, text in {
        "calc.py": "def speed(a):\n    return 7 + 3 * a\n",
        "test_all.py": TEST,
        "big.py": "x = 1\n" * 200_000,
    }.items():
        (tmp_path / "w" / path).write_text(text)
    return tmp_path / "w"


def test_a_verdict_tells_what_moved_and_fails_where_less_is_asked(work: Path) -> None:
    store = Store(work, work / ".proctor" / "checkpoints.git")
    frozen = freeze(work, work / ".proctor" / "oracle", (), (), ())
    first = store.snapshot("c1").commit
    before = judgement(first, **{"test_all.py__test_speed": PASSED, "test_all.py__test_none": PASSED})
    (work / "tests").mkdir()
    (work / "test_all.py").rename(work / "tests" / "test_all.py")
    moved = store.snapshot("c2").commit
    after = judgement(moved, **{"tests/test_all.py__test_speed": PASSED, "tests/test_all.py__test_none": PASSED})
    assert compare(before, after).reason == "test disappeared: test_all.py::test_speed and 1 more"
    found = compare(before, after, Moves(store, frozen, first, moved))
    assert found.verdict is Verdict.PASSED
    there = "test_all.py::test_speed -> tests/test_all.py::test_speed"
    assert found.reason == f"2 tests passed; 2 tests moved: {there} and 1 more"
    assert list(found.moved) == ["test_all.py::test_speed", "test_all.py::test_none"]
    skipped = judgement(moved, **{"tests/test_all.py__test_speed": PASSED, "tests/test_all.py__test_none": SKIPPED})
    assert compare(before, skipped, Moves(store, frozen, first, moved)).failing == ("test_all.py::test_none",)

    (work / "tests" / "test_all.py").write_text(TEST.replace("== 43", "is not None"))
    weaker = store.snapshot("c3").commit
    found = compare(before, after, Moves(store, frozen, first, weaker))
    assert (found.verdict, found.failing, found.moved) == (Verdict.FAILED, ("test_all.py::test_speed",), {})
    for gone in ("", "0" * 40):
        assert compare(before, after, Moves(store, frozen, gone, moved)).verdict is Verdict.FAILED


def test_what_cannot_be_read_in_time_and_memory_moved_nowhere(work: Path) -> None:
    store = Store(work, work / ".proctor" / "checkpoints.git")
    frozen = freeze(work, work / ".proctor" / "oracle", (), (), ())
    first = store.snapshot("c1").commit
    (work / "test_all.py").write_text("(" * 100_000)
    (work / "m" / "test_all.py").write_text(TEST + "x = " + "-" * 100_000 + "1\n")
    moves = Moves(store, frozen, first, store.snapshot("c2").commit)
    assert moves.stand_ins(["test_all.py::test_speed"], {"m/test_all.py::test_speed": True}, []) == {}
    assert moves.stand_ins(["x::y"] * 1_001, {}, []) == {}
