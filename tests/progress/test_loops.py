"""Circles inside an iteration: what ends it, and what only looks like one (cases C4 to C6 of the loop)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.progress.loops import MOST_DENIALS, REMEMBERED, SLOW_MS, Call, Circle, Circles, call, judge
from proctor.words import Light, LoopRule

TIMES = {LoopRule.SAME_CALL: 4, LoopRule.SAME_ERROR: 4, LoopRule.CYCLE: 3, LoopRule.SAME_DENIAL: 2}
FIRING, SUSPECT = Light.FIRING, Light.SUSPECT

Said = tuple[LoopRule, Light] | None


def read(path: str, output: str = "text", **more: Any) -> Call:
    return call("read", {"path": path}, output, ok=True, **more)


def shell(command: str, output: str, ok: bool = True, **more: Any) -> Call:
    return call("shell", {"command": command}, output, ok=ok, **more)


def failed(command: str, output: str = "no rule to make target", **more: Any) -> Call:
    return shell(command, output, ok=False, **more)


def run(calls: Sequence[Call], times: dict[LoopRule, int] | None = None) -> list[Said]:
    circles, said = Circles(), list[Said]()
    for one in calls:
        circles = circles.after(one)
        found = judge(circles, TIMES if times is None else times)
        said.append((found.rule, found.light) if found else None)
    return said


def last(calls: Sequence[Call]) -> Circle | None:
    circles = Circles()
    for one in calls:
        circles = circles.after(one)
    return judge(circles, TIMES)


def test_the_same_call_with_the_same_result_ends_it_the_fourth_time() -> None:
    assert run([read("a.py")] * 4) == [None, None, None, (LoopRule.SAME_CALL, FIRING)]


def test_another_call_in_between_begins_the_row_anew() -> None:
    assert run([read("a.py")] * 3 + [read("b.py")] + [read("a.py")] * 3) == [None] * 7


def test_the_same_error_warns_the_third_time_and_ends_it_the_fourth() -> None:
    assert run([failed(f"make {n}") for n in range(4)]) == [
        None,
        None,
        (LoopRule.SAME_ERROR, SUSPECT),
        (LoopRule.SAME_ERROR, FIRING),
    ]


def test_a_look_that_works_does_not_end_a_row_of_errors_and_a_change_does() -> None:
    assert run([failed("make 1"), read("a.py"), failed("make 2"), read("b.py"), failed("make 3")])[-1] is not None
    changes = [call("write", {"path": "a.py", "content": f"{n}"}, "written", ok=True) for n in range(4)]
    assert run([one for change in changes for one in (change, failed("make"))]) == [None] * 8
    unknown = call("edit", {"path": "a.py"}, "written", ok=True)  # of which nobody tells what was written
    assert run([unknown, failed("make")] * 4) == [None] * 8


def test_edits_of_one_file_that_fail_alike_are_one_error_and_of_several_files_are_not() -> None:
    def edits(paths: str) -> list[Call]:
        return [
            call("write", {"path": path, "diff": str(n)}, "text to replace not found", ok=False)
            for n, path in enumerate(paths)
        ]

    assert run(edits("aaaa"))[-1] == (LoopRule.SAME_ERROR, FIRING)
    assert run(edits("abcd")) == [None] * 4


@pytest.mark.parametrize("period", [2, 3, 4])
def test_a_cycle_of_two_to_four_calls_ends_it_the_third_time(period: int) -> None:
    once = [read(name) for name in "abcd"[:period]]
    assert run(once * 3) == [None] * (3 * period - 1) + [(LoopRule.CYCLE, FIRING)]


def test_five_calls_in_a_row_again_and_again_are_no_cycle() -> None:
    assert run([read(name) for name in "abcde"] * 4) == [None] * 20


def test_the_same_denied_twice_warns_and_once_more_ends_it() -> None:
    circles, said = Circles(), []
    for _ in range(3):
        circles = circles.after_denial("digest", "shell rm -rf /\x1b[31m")
        said.append(judge(circles, TIMES))
    assert [one and one.light for one in said] == [None, SUSPECT, FIRING]
    assert said[1] is not None
    assert said[1].evidence == ("2 times denied the same", "shell rm -rf /")
    other = Circles().after_denial("one", "one").after_denial("two", "two")
    assert judge(other, TIMES) is None
    assert judge(circles.after(read("a.py")), TIMES) is None


# --- what only looks like one -----------------------------------------------------------------


def test_c4_the_word_error_in_an_output_is_no_error() -> None:
    calls = [shell(f"cat {n}", '{"is_error": false} error: Error') for n in range(9)]
    assert run(calls) == [None] * 9


@pytest.mark.parametrize(
    "poll",
    [
        lambda n: shell("gh run view", f"{n} of 9 done"),  # its output changes
        lambda n: shell("gh run view", "in progress", ms=SLOW_MS),  # it is slow
        lambda n: shell("sleep 30 && gh run view", "in progress"),
        lambda n: failed("sleep 1; curl localhost:8080", "connection refused"),
        lambda n: failed("curl localhost:8080", "connection refused", ms=SLOW_MS),
        lambda n: call("taskoutput", {"task": 1}, "so far", ok=True, digest=f"{n}"),  # it changes beyond the beginning
    ],
)
def test_c5_a_poll_that_is_slow_or_changes_is_no_circle(poll: Any) -> None:
    assert run([poll(n) for n in range(12)]) == [None] * 12
    between = [shell("sleep 5", ""), shell("gh run view", "in progress")]
    assert run(between * 6) == [None] * 12


def test_c5_a_batch_of_one_tool_over_many_files_is_no_circle_whatever_they_come_to() -> None:
    assert run([read(f"{n}.py", "same") for n in range(20)]) == [None] * 20
    gone = [call("read", {"path": f"{n}.py"}, "file does not exist", ok=False) for n in range(20)]
    assert run(gone) == [None] * 20
    assert run([failed(f"grep -r x{n} src", "") for n in range(20)]) == [None] * 20


def test_c6_parallel_reads_empty_outputs_and_calls_of_which_nothing_is_known_are_no_circle() -> None:
    assert run([read(f"{n}.py", "", batch=1) for n in range(9)]) == [None] * 9
    assert run([read("a.py", batch=1)] * 9) == [None] * 9
    assert run([failed("make", batch=1)] * 9) == [None] * 9
    assert run([read(name, batch=1) for name in "abc"] * 3) == [None] * 9
    assert run([call("tool", {}, "", ok=True)] * 9) == [None] * 9
    assert run([call("read", {"path": "a"}, None, ok=True)] * 9) == [None] * 9


def test_batches_that_repeat_each_other_are_a_cycle() -> None:
    assert run([read(name, batch=turn) for turn in range(3) for name in "ab"])[-1] == (LoopRule.CYCLE, FIRING)


def test_words_beside_a_call_and_fractions_of_seconds_make_no_other_call() -> None:
    calls = [
        call("shell", {"command": "pytest", "description": f"try {n}"}, f"1 failed in 0.0{n}s", ok=True)
        for n in range(4)
    ]
    assert run(calls)[-1] == (LoopRule.SAME_CALL, FIRING)


def test_another_input_is_another_call_also_beyond_what_is_shown_of_it() -> None:
    calls = [call("shell", {"command": "x" * 5_000 + str(n)}, "same", ok=True) for n in range(9)]
    assert run(calls) == [None] * 9


# --- in general -------------------------------------------------------------------------------


def test_evidence_names_count_and_call_and_is_safe_to_show() -> None:
    found = last([failed("make \x1b[31mall\n", "no\u202e rule")] * 4)
    assert found is not None
    assert found.rule is LoopRule.SAME_CALL
    assert found.window == 4
    assert found.evidence[0] == "4 times the same call with one result"
    assert found.evidence[1].startswith("shell make all")
    assert all(one.isprintable() for one in found.evidence)


@given(st.lists(st.sampled_from("abc"), max_size=30), st.sampled_from(LoopRule))
def test_zero_switches_a_rule_off_and_what_is_remembered_can_be_stored(names: list[str], off: LoopRule) -> None:
    calls = [failed(name) if name == "c" else read(name) for name in names]
    assert all(one is None or one[0] is not off for one in run(calls, {**TIMES, off: 0}))
    circles = Circles()
    for one in calls:
        circles = circles.after(one)
    assert msgspec.json.decode(msgspec.json.encode(circles), type=Circles) == circles


def test_a_flood_of_calls_is_remembered_within_bounds() -> None:
    circles = Circles()
    for n in range(5 * REMEMBERED):
        circles = circles.after(read(f"{n}")).after_denial(f"{n}", "x")
    assert len(circles.calls) == REMEMBERED
    assert len(circles.denials) == MOST_DENIALS
