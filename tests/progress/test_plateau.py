"""The numbered cases (C1 to C11) are those of the list of loop cases for plateaus."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import count
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.journal.events import (
    ClaimRecorded,
    Event,
    FalseClaim,
    IterationEnded,
    IterationStarted,
    Judged,
    Logged,
    PlateauFired,
    PlateauReset,
    PlateauSignal,
    RequestClosed,
    RequestOpened,
    StatusChanged,
    TaskDone,
    TaskId,
    TaskMoved,
    ToolCalled,
    decode,
    encode,
    kind_of,
)
from proctor.progress.fingerprint import failure
from proctor.progress.memory import COUNTED, RING, Memory, in_vain, memory_from, observe
from proctor.progress.plateau import Signal, Spent, rows, standing, would_stall
from proctor.words import (
    Dimension,
    IterationEnd,
    Light,
    Phase,
    RequestKind,
    RequestOutcome,
    Response,
    Rule,
    SessionStatus,
    TaskStatus,
    Verdict,
)

THREE = {Rule.NO_CHANGE: 3, Rule.SHRINKING: 3, Rule.SAME_FAILURE: 3}
ALL = {**THREE, Rule.REVISIT: 2, Rule.NO_OP: 2, Rule.STALLED: 6}
UNCOUNTED = sorted(set(IterationEnd) - COUNTED)


class Session:
    """A journal in the making: writes what a loop would write, and remembers what fired when."""

    def __init__(self, windows: dict[Rule, int] | None = None) -> None:
        self.windows = THREE if windows is None else windows
        self.events: list[Event] = []
        self.memory = Memory()
        self.numbers = count(1)
        self.fired: list[tuple[int, Rule]] = []
        self.last: tuple[Signal, ...] = ()
        self.light = Light.QUIET
        self.why = ""

    def write(self, *events: Event) -> None:
        self.events += events
        self.memory = reduce(observe, events, self.memory)

    def baseline(self, digest: str, failing: Iterable[str] = (), task: TaskId = 1, failures: int = 0) -> None:
        self.write(
            Judged(
                iteration=0,
                task=task,
                phase=Phase.BASELINE,
                verdict=Verdict.FAILED,
                digest=digest,
                failing=tuple(failing),
                failures=failures,
            )
        )

    def iteration(
        self,
        digest: str = "d",
        *,
        task: TaskId = 1,
        lines: int = 10,
        failing: Iterable[str] = (),
        how: IterationEnd = IterationEnd.EXITED,
        verdict: Verdict = Verdict.FAILED,
        done: bool = False,
        found: str = "",
        left: str = "",
        failures: int = 0,
        check: str = "",
        hindered: str = "",
        spent: dict[Dimension, Spent] | None = None,
    ) -> list[Rule]:
        """`found` and `left` are the trees before and after; without them the lines say whether anything changed."""
        number = next(self.numbers)
        self.write(
            IterationStarted(iteration=number, task=task, key=f"k{number}", tree=found),
            IterationEnded(iteration=number, task=task, how=how, lines=lines, tree=left, hindered=hindered),
            Judged(
                iteration=number,
                task=task,
                phase=Phase.WORK,
                verdict=Verdict.PASSED if done else verdict,
                digest="" if done else digest,
                failing=tuple(failing),
                failures=failures,
                check=check,
            ),
        )
        if done:
            self.write(TaskDone(task=task, iteration=number, checkpoint=f"c{number}"))
        found = standing(self.memory, self.windows, number, spent)
        self.last, self.light, self.why = found.signals, found.light, found.why
        self.write(*rows(found, number))
        self.fired += [(number, signal.rule) for signal in self.last]
        return [signal.rule for signal in self.last]

    def signal(self, rule: Rule) -> Signal:
        return next(signal for signal in self.last if signal.rule is rule)


# --- the cases --------------------------------------------------------------------------------


def test_c1_tasks_verified_one_after_another_are_never_a_plateau() -> None:
    session = Session(dict.fromkeys(THREE, 1))
    for task in range(20):
        assert session.iteration(task=task, lines=100 - 5 * task, done=True) == []


def test_c2_c3_a_commit_of_the_worker_and_the_kind_of_repository_do_not_matter() -> None:
    with_words, without = Session(), Session()
    for session in (with_words, without):
        session.baseline("b")
    for step in range(3):
        with_words.write(ToolCalled(iteration=step, name="git commit"), Logged(text="no git repository here"))
        assert with_words.iteration("same", lines=40 + step) == without.iteration("same", lines=40 + step)


def test_c4_the_word_error_in_what_a_worker_says_is_no_error() -> None:
    session = Session()
    for task in range(6):
        session.write(
            ToolCalled(iteration=task, name='{"is_error": false}', count=9),
            Logged(text="error error error"),
            ClaimRecorded(iteration=task, task=task, status="error"),
        )
        assert session.iteration(task=task, done=True) == []


def test_c5_c6_polls_batches_and_cold_starts_within_an_iteration_raise_no_alarm() -> None:
    session = Session()
    session.baseline("b")
    session.write(*(ToolCalled(iteration=1, name="read", count=50) for _ in range(500)))
    assert session.iteration("first") == []


@pytest.mark.parametrize("how", UNCOUNTED)
def test_c7_what_was_done_to_an_iteration_never_counts(how: IterationEnd) -> None:
    session = Session()
    session.baseline("same")
    for _ in range(10):
        assert session.iteration("same", lines=0, how=how) == []
    assert session.iteration("same", lines=30) == []
    assert session.iteration("same", how=how) == []
    assert session.iteration("same", lines=20) == []
    assert session.iteration("same", how=how) == []
    assert set(session.iteration("same", lines=19)) == {Rule.NO_CHANGE, Rule.SAME_FAILURE}


def test_a_worker_that_a_budget_cuts_short_each_time_is_seen_by_the_run_that_stalls() -> None:
    session = Session(ALL)
    session.baseline("same")
    for _ in range(5):
        assert session.iteration("same", found="G", left="G", lines=0, how=IterationEnd.BUDGET) == []
    assert session.iteration("same", found="G", left="G", lines=0, how=IterationEnd.BUDGET) == [Rule.STALLED]
    assert (session.light, session.why) == (Light.FIRING, "stalled fires by itself")


@pytest.mark.parametrize(
    "last",
    [
        {"how": IterationEnd.OPERATOR},
        {"verdict": Verdict.INFRA},
        {"hindered": "its provider limited it"},
        {"failing": ("a",)},  # an id more passes than ever before
        {"done": True},
    ],
)
def test_what_is_no_iteration_in_vain_stalls_no_run_that_is_cut_short(last: dict[str, Any]) -> None:
    session = Session(ALL)
    session.baseline("same", ("a", "b"))
    for _ in range(5):
        session.iteration("same", failing=("a", "b"), how=IterationEnd.BUDGET)
    assert session.iteration(**{"digest": "same", "how": IterationEnd.BUDGET, **last}) == []


def test_cuts_and_half_of_a_budget_in_vain_stall_a_run() -> None:
    half = {Dimension.TOKENS: Spent(50, 100)}
    session = Session(ALL)
    session.baseline("same")
    assert session.iteration("same", how=IterationEnd.BUDGET, spent=half) == []
    assert session.iteration("same", how=IterationEnd.BUDGET, spent=half) == [Rule.STALLED]


@pytest.mark.parametrize("how", UNCOUNTED)
def test_c7_an_old_signal_is_not_given_again_after_an_iteration_that_does_not_count(how: IterationEnd) -> None:
    session = Session()
    session.baseline("same")
    for _ in range(3):
        session.iteration("same")
    assert session.last
    assert session.iteration("same", how=how) == []


def test_c7_a_check_that_cannot_run_and_waits_never_count() -> None:
    session = Session()
    session.baseline("same")
    for number in range(10):
        session.write(
            StatusChanged(status=SessionStatus.WAITING, why="provider_limit"),
            RequestOpened(id=number, request=RequestKind.TOOL, what="shell"),
            RequestClosed(id=number, outcome=RequestOutcome.GRANTED),
        )
        assert session.iteration("infra", verdict=Verdict.INFRA) == []


def test_c7_an_iteration_that_its_provider_hindered_never_counts() -> None:
    session = Session(ALL)
    session.baseline("same")
    for _ in range(9):
        assert session.iteration("same", lines=0, hindered="status 503") == []
    assert session.light is Light.QUIET


def test_c8_different_patches_with_the_same_failure_fire() -> None:
    session = Session()
    session.baseline(failure("t", Verdict.FAILED, (), "NotImplementedError"))
    found = [
        session.iteration(failure("t", Verdict.FAILED, ("test_sum",), f"AssertionError: {got} != 42"), lines=lines)
        for got, lines in ((17, 10), (18, 80), (-3, 44))
    ]
    assert found == [[], [], [Rule.SAME_FAILURE]]


def test_c9_when_nothing_repeats_and_nothing_is_solved_it_fires() -> None:
    session = Session(ALL)
    session.baseline("b", ("a", "b"))
    for step in range(5):
        assert session.iteration(f"new {step}", lines=50 + step, failing=("a", "b")) == []
    assert session.iteration("newer", failing=("a", "b")) == [Rule.STALLED]
    assert session.light is Light.FIRING


def test_c9_other_actions_with_the_same_verdicts_fire_within_the_window() -> None:
    session = Session()
    session.baseline("b")
    for step in range(6):
        session.write(ToolCalled(iteration=step, name=f"tool {step}"))
        session.iteration("AB"[step % 2], lines=40 + step)
    assert session.fired == [(5, Rule.NO_CHANGE), (6, Rule.NO_CHANGE)]


def test_c10_only_the_operator_resets_the_counters() -> None:
    session = Session()
    session.baseline("same")
    for _ in range(3):
        session.iteration("same")
    session.write(
        PlateauFired(rule=Rule.NO_CHANGE, window=3, evidence=(), response=Response.PARK),
        StatusChanged(status=SessionStatus.PARKED, why="plateau:no_change"),
        StatusChanged(status=SessionStatus.RUNNING),
    )
    assert session.iteration("same", lines=30)
    session.write(PlateauReset(by="operator"))
    assert session.iteration("same", lines=29) == []
    assert session.iteration("same", lines=28) == []
    assert Rule.NO_CHANGE in session.iteration("same", lines=27)


def test_c11_every_signal_names_rule_window_and_evidence() -> None:
    session = Session()
    session.baseline("same", ("t1", "t2"))
    for lines in (40, 12, 4):
        session.iteration("same", task=1, lines=lines, failing=("t1", "t2"))
    assert {signal.rule for signal in session.last} == set(THREE)
    for signal in session.last:
        assert signal.window == 3
        assert "iterations 1, 2, 3" in signal.evidence[0]
        assert signal.evidence[3] == "iteration 3, task 1: failed 2 (t1, t2), seen before, 4 lines changed"
    assert "40 > 12 > 4" in session.signal(Rule.SHRINKING).evidence[0]
    assert session.signal(Rule.SAME_FAILURE).task == 1
    assert session.signal(Rule.NO_CHANGE).task is None


# --- the rules --------------------------------------------------------------------------------


def test_a_run_that_verifies_one_task_in_three_never_fires() -> None:
    session = Session()
    for task in range(30):
        session.baseline(f"same {task}", task=task)
        assert session.iteration(f"same {task}", task=task, lines=40) == []
        assert session.iteration(f"same {task}", task=task, lines=12) == []
        assert session.iteration(task=task, lines=4, done=True) == []


def test_ever_fewer_failures_are_an_advance_however_small_the_changes_become() -> None:
    session = Session()
    ids = [f"t{number}" for number in range(20)]
    session.baseline("20", ids)
    for left in range(19, 0, -1):
        assert session.iteration(str(left), lines=left * 3, failing=ids[:left]) == []


def test_iterations_are_in_vain_since_fewer_failed_than_ever_before() -> None:
    session = Session()
    session.baseline("3", ["a", "b", "c"])
    seen = []
    for failing in (["a", "b"], ["a", "b"], ["a"], ["a", "b"], ["b"], ["a", "b", "c"]):
        session.iteration(" ".join(failing), failing=failing)
        seen.append(in_vain(session.memory, 1, ()))
    assert seen == [0, 1, 0, 1, 2, 3]
    session.iteration("a", failing=["a"], how=IterationEnd.INTERRUPTED)
    session.iteration(verdict=Verdict.INFRA)
    assert in_vain(session.memory, 1, {IterationEnd.INTERRUPTED}) == 3
    assert in_vain(session.memory, 2, ()) == 0


def test_failures_beyond_those_that_a_row_names_are_counted_too() -> None:
    session = Session()
    ids = [f"t{number}" for number in range(200)]
    session.baseline("900", ids, failures=900)
    for left in range(800, 200, -100):
        assert session.iteration(str(left), lines=left, failing=ids, failures=left) == []
        assert memory_from(session.events).iterations[-1].fewer


@pytest.mark.parametrize("module", ["tests/m.py", "m", "tests.m"])
def test_a_module_that_cannot_be_loaded_stands_for_its_tests(module: str) -> None:
    tests = [f"{module}::t{n}" if "/" in module else f"tests.m.C.t{n}" for n in range(9)]
    honest = Session(ALL)
    honest.baseline("b", [module])
    for left in range(9, 1, -1):
        assert honest.iteration(f"d{left}", lines=5 * left, failing=tests[:left]) == []
    breaks = Session({Rule.STALLED: 3})
    breaks.baseline("b", tests)
    found = [breaks.iteration(f"d{n}", failing=[module] if n % 2 else tests) for n in range(3)]
    assert found[-1] == [Rule.STALLED], "to break the import is no advance"


def test_as_few_failures_as_before_are_no_advance() -> None:
    session = Session()
    session.baseline("b", ("a", "b"))
    session.iteration("1", failing=("a",))
    for digest in ("b", "1", "b"):
        session.iteration(digest, failing=("a",))
    assert (4, Rule.NO_CHANGE) in session.fired


def test_going_to_and_fro_between_eight_failures_is_no_change() -> None:
    session = Session({Rule.NO_CHANGE: 3})
    for step in range(RING):
        session.baseline(str(step))
    assert [session.iteration(str(step % RING)) for step in range(4)] == [[], [], [Rule.NO_CHANGE], [Rule.NO_CHANGE]]


def test_a_ninth_failure_pushes_the_oldest_out() -> None:
    session = Session({Rule.NO_CHANGE: 1})
    for step in range(RING + 1):
        session.baseline(str(step))
    assert session.iteration("0") == []
    assert session.iteration("0") == [Rule.NO_CHANGE]


@pytest.mark.parametrize(
    ("lines", "fires"),
    [
        ((40, 12, 4), True),
        ((400, 200, 100), True),
        ((400, 200, 101), False),
        ((8, 6, 5), True),
        ((9, 8, 6), False),
        ((40, 40, 4), False),
        ((4, 40, 3), False),
        ((3, 2, 0), True),
        ((5, 5, 5), False),
    ],
)
def test_shrinking_is_strict_and_ends_small(lines: tuple[int, ...], fires: bool) -> None:
    session = Session({Rule.SHRINKING: 3})
    for digest, changed in enumerate(lines):
        session.iteration(f"new {digest}", lines=changed)
    assert bool(session.last) is fires


def test_smaller_tasks_with_smaller_changes_do_not_shrink() -> None:
    session = Session({Rule.SHRINKING: 3, Rule.SAME_FAILURE: 3})
    for task, lines in enumerate((400, 100, 3)):
        assert session.iteration("same", task=task, lines=lines) == []


def test_one_task_is_followed_through_the_turns_of_others() -> None:
    session = Session({Rule.SAME_FAILURE: 3})
    for step in range(4):
        assert session.iteration("a", task="a") == ([Rule.SAME_FAILURE] if step > 1 else [])
        session.iteration(f"b {step}", task="b")


def test_a_task_that_left_the_queue_takes_its_iterations_along() -> None:
    session = Session()
    for task in (1, 2):
        session.baseline("same", task=task)
    for _ in range(3):
        session.iteration("same", task=1)
    assert session.last
    session.write(TaskMoved(task=1, status=TaskStatus.BLOCKED))
    assert session.iteration("same", task=2, lines=40) == []
    assert session.iteration("same", task=2, lines=41) == []
    assert session.iteration("same", task=2, lines=42) != []


def test_a_pass_that_verified_nothing_resets_nothing() -> None:
    session = Session({Rule.NO_CHANGE: 3})
    session.baseline("same")
    session.iteration("same")
    assert session.iteration(verdict=Verdict.PASSED) == []
    assert session.iteration("same") == [Rule.NO_CHANGE]


def test_zero_switches_a_rule_off() -> None:
    for windows in ({}, dict.fromkeys(THREE, 0)):
        session = Session(windows)
        for lines in range(40, 0, -2):
            assert session.iteration("same", lines=lines) == []


def test_a_timeout_counts_and_a_killed_iteration_that_advanced_breaks_the_row() -> None:
    session = Session({Rule.NO_CHANGE: 3})
    session.baseline("slow", ("a", "b", "c"))
    session.iteration("slow", verdict=Verdict.TIMEOUT, how=IterationEnd.IDLE)
    session.iteration("slow", verdict=Verdict.TIMEOUT, how=IterationEnd.DIED)
    session.iteration("better", failing=("a",), how=IterationEnd.BUDGET)
    assert session.iteration("slow", verdict=Verdict.TIMEOUT) == []
    assert session.iteration("slow", verdict=Verdict.TIMEOUT) == []
    assert session.iteration("slow", verdict=Verdict.TIMEOUT) == [Rule.NO_CHANGE]


@pytest.mark.parametrize(
    ("digests", "fires"),
    [
        ("aaa", True),
        ("abaa", True),
        ("aaba", True),
        ("baaa", True),
        ("aba", False),
        ("abba", False),
        ("aaab", False),  # three of the last four, but the last one is news
        ("aabba", False),
    ],
)
def test_the_same_failure_is_three_of_the_last_four_and_the_last_is_one_of_them(digests: str, fires: bool) -> None:
    session = Session({Rule.SAME_FAILURE: 3})
    for lines, digest in enumerate(digests):
        session.iteration(digest, lines=10 + lines)
    assert bool(session.last) is fires


REVISITS: list[tuple[str, bool]] = [
    ("G>A G>A G>A", True),  # put back by the harness, and done again: twice
    ("G>A A>G G>A", True),  # to and fro
    ("G>A A>B B>A A>B", True),
    ("G>A A>B B>A", False),  # once
    ("G>A A>B B>C C>D D>E", False),
    ("G>A A>A A>A A>A", False),  # nothing was changed, which is another rule's
    ("G>A A>G G>G G>B", False),
]


@pytest.mark.parametrize(("steps", "fires"), REVISITS)
def test_a_tree_that_was_there_before_and_had_changed_since_is_a_revisit(steps: str, fires: bool) -> None:
    session = Session({Rule.REVISIT: 2})
    for number, step in enumerate(steps.split()):
        found, left = step.split(">")
        session.iteration(f"new {number}", found=found, left=left)
    assert [signal.rule for signal in session.last] == [Rule.REVISIT] * fires


@pytest.mark.parametrize(
    ("digests", "fires"),
    [
        ("ababab", True),
        ("abcabcabc", True),
        ("abcdabcdabcd", True),
        ("xababab", True),
        ("ababa", False),
        ("aaaaaa", False),  # one failure, which is another rule's
        ("abcdeabcdeabcde", False),
        ("abab" + "c" + "ab", False),
    ],
)
def test_two_to_four_failures_that_come_back_three_times_oscillate(digests: str, fires: bool) -> None:
    session = Session({Rule.REVISIT: 2})
    for number, digest in enumerate(digests):
        session.iteration(digest, found=f"{number}", left=f"{number + 1}")
    assert bool(session.last) is fires


def test_the_advice_on_oscillation_names_the_evaluator_and_no_checkpoint() -> None:
    session = Session({Rule.REVISIT: 2})
    for found, left in ("GA", "GA", "GA"):
        session.iteration("d", found=found, left=left, check="pytest -q tests/test_money.py")
    (signal,) = session.last
    assert "look at the evaluator, pytest -q tests/test_money.py" in signal.advice
    assert "checkpoint does not cure oscillation" in signal.advice
    assert session.events[-1] == PlateauSignal(Rule.REVISIT, 2, signal.evidence, 1, 3, signal.advice)


def test_no_change_and_no_new_verdict_twice_is_no_work_and_fires_at_once() -> None:
    session = Session(ALL)
    session.baseline("b")
    assert session.iteration("b", found="G", left="G", lines=0) == []
    assert session.iteration("b", found="G", left="G", lines=0) == [Rule.NO_OP]
    assert (session.light, session.why) == (Light.FIRING, "no_op fires by itself")


@pytest.mark.parametrize(
    "second",
    [
        {"left": "A"},  # it did something
        {"left": "G", "digest": "other"},  # the verdict is news
        {"left": "G", "how": IterationEnd.BUDGET},  # it was ended
        {"left": "G", "verdict": Verdict.INFRA},
    ],
)
def test_an_iteration_that_did_or_could_do_something_is_not_idle(second: dict[str, Any]) -> None:
    session = Session({Rule.NO_OP: 2})
    session.baseline("b")
    session.iteration("b", found="G", left="G")
    assert session.iteration(**{"digest": "b", "found": "G", **second}) == []


def test_two_tasks_set_aside_in_a_row_stall_the_run_and_one_verified_in_between_does_not() -> None:
    for between in (False, True):
        session = Session(ALL)
        session.iteration("x", task=1)
        session.write(TaskMoved(task=1, status=TaskStatus.BLOCKED, why="plateau:same_failure"))
        if between:
            session.iteration(task=9, done=True)
        session.iteration("y", task=2)
        stall = would_stall(memory_from(session.events), 2, ALL)
        told = ("task 1 was set aside: the same failure comes back", "task 2 was about to be set aside")
        assert (stall.evidence[1:] if stall else between) == (told if not between else True)
        session.write(TaskMoved(task=2, status=TaskStatus.BLOCKED, why="budget:tokens"))
        assert session.iteration("z", task=3) == ([] if between else [Rule.STALLED])
    assert session.light is Light.QUIET


def test_a_task_that_the_operator_dropped_stalls_nothing() -> None:
    session = Session(ALL)
    for task in (1, 2):
        session.write(TaskMoved(task=task, status=TaskStatus.BLOCKED, why="dropped by the operator"))
    assert session.iteration("z", task=3) == []


@pytest.mark.parametrize(
    ("used", "dimension", "fires"),
    [
        ((20, 49), Dimension.TOKENS, False),
        ((20, 50), Dimension.TOKENS, True),
        ((30, 80), Dimension.COST, True),
        ((60,), Dimension.TOKENS, False),  # one dear iteration says nothing yet
    ],
)
def test_half_of_a_budget_with_nothing_verified_stalls_the_run(
    used: tuple[int, ...], dimension: Dimension, fires: bool
) -> None:
    session = Session(ALL)
    for number, amount in enumerate(used):
        session.iteration(f"new {number}", spent={dimension: Spent(amount, 100)})
    assert [signal.rule for signal in session.last] == [Rule.STALLED] * fires
    assert all(f"{used[-1]} % of {dimension} used" in signal.evidence[0] for signal in session.last)


def test_an_id_more_that_passes_is_something_verified() -> None:
    session = Session(ALL)
    ids = [f"t{number}" for number in range(12)]
    session.baseline("12", ids)
    for left in range(11, 0, -1):
        assert session.iteration(str(left), failing=ids[:left], spent={Dimension.TOKENS: Spent(90, 100)}) == []


# --- the light --------------------------------------------------------------------------------


def test_one_rule_alone_is_suspected_once_and_fires_when_it_holds_again_after_the_nudge() -> None:
    session = Session({Rule.SAME_FAILURE: 3})
    lights = [(session.iteration("d", lines=10 + n), session.light)[1] for n in range(4)]
    assert lights == [Light.QUIET, Light.QUIET, Light.SUSPECT, Light.FIRING]
    assert session.why == "same_failure holds again after the nudge that followed iteration 3"


def test_a_nudge_that_helped_leaves_no_trace_until_the_same_rule_comes_back() -> None:
    session = Session({Rule.SAME_FAILURE: 3})
    for digest in "dddxy":
        session.iteration(digest)
    assert session.light is Light.QUIET
    for digest in "eee":
        session.iteration(digest)
    assert session.light is Light.FIRING


def test_two_rules_together_fire_without_a_nudge() -> None:
    session = Session()
    session.baseline("d")
    for lines in (30, 31, 32):
        session.iteration("d", lines=lines)
    assert (session.light, session.why) == (Light.FIRING, "same_failure and no_change hold together")


def test_another_rule_gets_a_nudge_of_its_own_and_so_does_another_task() -> None:
    session = Session()
    for n in range(3):
        session.iteration("d", lines=10 + n)
    for lines in (40, 20, 3):
        session.iteration(f"new {lines}", lines=lines)
    assert [signal.rule for signal in session.last] == [Rule.SHRINKING]
    assert session.light is Light.SUSPECT
    session.write(TaskMoved(task=1, status=TaskStatus.BLOCKED, why="operator"))
    for n in range(3):
        session.iteration("d", task=2, lines=10 + n)
    assert session.light is Light.SUSPECT


def test_the_light_is_the_same_when_the_signals_of_this_iteration_are_written_already() -> None:
    session = Session()
    for n in range(3):
        session.iteration("d", lines=10 + n)
    again = standing(memory_from(session.events), THREE, 3)
    assert (again.light, again.signals) == (Light.SUSPECT, session.last)


def test_an_iteration_that_ran_in_circles_counts_as_completed() -> None:
    session = Session({Rule.SAME_FAILURE: 3})
    for n in range(3):
        session.iteration("d", lines=n, how=IterationEnd.LOOPING)
    assert session.light is Light.SUSPECT


def test_a_verified_task_and_the_operator_forget_nudges_and_tasks_set_aside() -> None:
    session = Session()
    session.write(TaskMoved(task=7, status=TaskStatus.BLOCKED, why="plateau:no_op"))
    for n in range(3):
        session.iteration("d", lines=10 + n)
    assert memory_from(session.events).nudges
    for last in (PlateauReset(by="operator"), TaskDone(task=1, iteration=3, checkpoint="c")):
        memory = memory_from([*session.events, last])
        assert (memory.iterations, memory.nudges, memory.aside) == ((), (), ())


# --- across restarts --------------------------------------------------------------------------


def test_the_window_is_the_same_when_the_supervisor_dies_between_two_iterations() -> None:
    session = Session()
    session.baseline("same")
    session.iteration("same")
    session.iteration("same")
    session.events = [decode(kind_of(event), 1, encode(event)) for event in session.events]
    assert Rule.NO_CHANGE in session.iteration("same")
    assert session.last[0].window == 3


def test_a_verdict_repeated_by_a_recovery_changes_nothing() -> None:
    session = Session({Rule.NO_CHANGE: 3})
    session.iteration("first")
    once = memory_from(session.events)
    again = observe(once, session.events[-1])
    assert once.iterations == again.iterations
    assert again.iterations[0].new


def test_a_verdict_that_a_recovery_gives_before_the_end_is_the_same() -> None:
    session = Session()
    session.iteration("first", lines=7)
    started, ended, judged = session.events
    assert memory_from([started, judged, ended]) == memory_from(session.events)


def test_the_memory_survives_being_stored() -> None:
    session = Session()
    session.baseline("b", ("x",), task="named")
    session.iteration("a", task="named", failing=("x", "y"))
    memory = memory_from(session.events)
    assert msgspec.json.decode(msgspec.json.encode(memory), type=Memory) == memory


# --- for all runs -----------------------------------------------------------------------------

tasks = st.integers(1, 3)
digests = st.sampled_from("abc")
ends = st.sampled_from(IterationEnd)
steps = st.fixed_dictionaries(
    {
        "digest": digests,
        "task": tasks,
        "lines": st.integers(0, 50),
        "how": ends,
        "failing": st.lists(st.sampled_from(["t1", "t2", "t3"]), unique=True),
        "verdict": st.sampled_from(Verdict),
        "done": st.booleans(),
    }
)


@given(st.lists(steps, max_size=25), st.integers(0, 4))
def test_a_signal_follows_only_a_row_of_counted_iterations_without_a_verified_task(
    run: list[dict[str, object]], window: int
) -> None:
    session = Session(dict.fromkeys(THREE, window))
    since_done = 0
    for step in run:
        fired = session.iteration(**step)  # type: ignore[arg-type]
        counted = step["how"] in COUNTED and step["verdict"] is not Verdict.INFRA
        since_done = 0 if step["done"] else since_done + counted
        if fired:
            assert window > 0
            assert counted
            assert since_done >= window
            assert all(signal.window == window for signal in session.last)
            assert all(len(signal.evidence) == signal.window + 1 for signal in session.last)


@given(st.lists(steps, max_size=25), st.integers(0, 75))
def test_folding_in_two_parts_is_folding_at_once(run: list[dict[str, object]], cut: int) -> None:
    session = Session()
    for step in run:
        session.iteration(**step)  # type: ignore[arg-type]
    memory = memory_from(session.events[:cut])
    stored = msgspec.json.decode(msgspec.json.encode(memory), type=Memory)
    for event in session.events[cut:]:
        stored = observe(stored, event)
    assert stored == memory_from(session.events)


@given(st.lists(steps, max_size=20))
def test_iterations_that_do_not_count_change_no_later_signal(run: list[dict[str, object]]) -> None:
    plain, noisy = Session(), Session()
    for session in (plain, noisy):
        session.baseline("a")
    for step in run:
        same = {**step, "task": 1, "done": False, "failing": ()}
        noisy.iteration("a", how=IterationEnd.OPERATOR)
        assert noisy.iteration(**same) == plain.iteration(**same)  # type: ignore[arg-type]


def test_false_claims_are_not_what_is_counted() -> None:
    session = Session()
    session.baseline("same")
    for number in range(1, 4):
        session.write(FalseClaim(iteration=number, task=1, verdict=Verdict.FAILED))
    assert memory_from(session.events).iterations == ()
