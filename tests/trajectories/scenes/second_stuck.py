"""Stuck runs of the second half: other workers, other shapes, other numbers."""

from __future__ import annotations

from random import Random

from trajectories.form import Label
from trajectories.making import GIT, Project, Scene, Steps, plain, tempered

STUCK = Label.STUCK


def stubborn(r: Random) -> Scene:
    about = "one place, another wrong value each time"
    return tempered(r, "stubborn", "stubborn", STUCK, "same_failure", about, 4, stuck_from=1, most=8)


def forgetful(r: Random) -> Scene:
    about = "mends one case and loses the one before, round and round"
    return tempered(r, "forgetful", "forgetful", STUCK, "period", about, 3, stuck_from=1, most=12)


def forgetful_wide(r: Random) -> Scene:
    about = "round and round, five cases long"
    return tempered(r, "forgetful", "forgetful-wide", STUCK, "stalled", about, 5, stuck_from=1, most=12)


def wandering(r: Random) -> Scene:
    about = "never more right than at first, and never the same"
    return tempered(r, "wandering", "wandering", STUCK, "stalled", about, 6, stuck_from=2, most=11)


def hesitant(r: Random) -> Scene:
    about = "runs the check over and over"
    return tempered(r, "hesitant", "hesitant", STUCK, "same_call", about, 3, stuck_from=1, most=4)


def timid(r: Random) -> Scene:
    about = "smaller changes each time, one failure"
    return tempered(r, "timid", "timid", STUCK, "shrinking", about, 3, stuck_from=1, most=7)


def stubborn_back(r: Random) -> Scene:
    about = "the tree is taken back at once, and it does the same again"
    back = {"on_failed": "rollback"}
    return tempered(
        r, "stubborn", "taken-back-at-once", STUCK, "same_failure", about, 4, stuck_from=1, most=7, progress=back
    )


def idle(r: Random) -> Scene:
    p = Project(r, cases=3)
    turns = [
        [["note", f"I am done, {n}."], *p.looks(), ["search", "src"], p.uses(), ["claim", "done"]] for n in range(6)
    ]
    return plain("says-done", STUCK, "no_op", "says that it is done and does nothing", p, turns, stuck_from=1, most=6)


def idle_after_tasks(r: Random) -> Scene:
    p = Project(r, tasks=3, cases=2)
    turns = [p.turn(1, range(2)), p.turn(2, range(2)), p.turn(3, [0]), *[[*p.looks(3), p.uses()]] * 5]
    return plain(
        "stops-at-last", STUCK, "no_op", "two tasks, half a third, and no more", p, turns, stuck_from=4, most=8
    )


def outside(r: Random) -> Scene:
    """It writes where no checkpoint looks."""
    p = Project(r, cases=3)
    turns = [[*p.looks(), ["edit", f"out/try{n}.txt", "x\n" * n], p.uses()] for n in range(1, 7)]
    files = {".gitignore": "out/\n", "out/keep": ""}
    about = "all it writes is in an ignored folder"
    return plain("writes-outside", STUCK, "no_op", about, p, turns, files=files, setup=GIT, stuck_from=1, most=6)


def oscillation(r: Random) -> Scene:
    p = Project(r, cases=2, kind="script")
    turns = [[*p.looks(), p.writes(1, [n % 2], pad=r.randint(0, 9)), p.uses()] for n in range(9)]
    return plain("seesaw", STUCK, "oscillation", "one rule or the other, never both", p, turns, stuck_from=1)


def revert(r: Random) -> Scene:
    p = Project(r, cases=3)
    source = p.files()[p.path()]
    turns = [p.turn(1, [0], tag="new")] + [
        [*p.looks(), ["edit", p.path(), source if n % 2 else p.source(1, [0])], p.uses()] for n in range(8)
    ]
    return plain(
        "undoes-itself", STUCK, "revisit", "takes its own change back, and makes it again", p, turns, stuck_from=2
    )


def period_2_ids(r: Random) -> Scene:
    p = Project(r, cases=4)
    turns = [p.turn(1, ([0, 1], [2, 3])[n % 2], tag=f"{r.random()}") for n in range(9)]
    return plain("two-halves", STUCK, "period", "one half or the other", p, turns, stuck_from=1)


def period_4(r: Random) -> Scene:
    p = Project(r, cases=4)
    turns = [p.turn(1, [n % 4], pad=n % 3) for n in range(13)]
    return plain("four-corners", STUCK, "period", "four ways in turn", p, turns, stuck_from=1, most=13)


def shrinking(r: Random) -> Scene:
    p = Project(r, cases=4, kind="script")
    errors = ("SystemError", "BufferError", "EOFError", "MemoryError", "RecursionError", "NotImplementedError")
    turns, notes = [], []
    for error, lines in zip(errors, (120, 50, 20, 6, 3, 1), strict=True):
        notes += p.remarks(lines)
        turns.append(
            [["edit", p.path(), p.source() + f"raise {error}\n"], ["edit", "why.md", "\n".join(notes) + "\n"], p.uses()]
        )
    return plain("runs-dry", STUCK, "shrinking", "its ideas run dry", p, turns, stuck_from=1, most=6)


def times_out(r: Random) -> Scene:
    """The check never comes to its end."""
    p = Project(r, cases=2)
    turns = [
        [*p.looks(), ["edit", p.path(), p.source(1, [0]) + f"LIMIT = {n}\nwhile True:\n    pass\n"], p.uses()]
        for n in range(5)
    ]
    scene = plain("never-ends", STUCK, "timeout", "what it writes never ends", p, turns, stuck_from=1, most=5)
    for task in scene.tasks:
        task["check"]["timeout"] = "2s"
    return scene


def crashes(r: Random) -> Scene:
    p = Project(r, cases=3)
    turns = [
        [*p.looks(), p.writes(1, [0], off=n + 2), ["use", 8_000, 500], ["shell", "kill -9 $PPID"]] for n in range(6)
    ]
    return Scene(
        "dies-each-time", STUCK, "dies", "the worker dies each time", p.tasks(), p.files(), turns, stuck_from=2, most=6
    )


def nothing_repeats(r: Random) -> Scene:
    p = Project(r, cases=3, kind="script")
    words = r.sample(["alpha", "beta", "gamma", "delta", "kappa", "omega", "sigma", "theta", "zeta", "iota"], 9)
    turns = [
        [*p.looks(), ["edit", p.path(), p.source(1, [0], pad=n) + f"import {word}_part\n"], p.uses()]
        for n, word in enumerate(words)
    ]
    return plain("new-each-time", STUCK, "stalled", "another part is missing each time", p, turns, stuck_from=1)


def aside(r: Random) -> Scene:
    p = Project(r, tasks=5, cases=2)
    fills: Steps = [["shell", f"ls tests | head -n {n}"] for n in range(1, 6)]
    turns = [[*fills, p.writes(task, [n]), p.uses()] for task in range(1, 6) for n in range(2)]
    budget = {"tool_calls": {"limit": 500, "on_exhaustion": "park", "per_task": 9}}
    return plain("aside-again", STUCK, "stalled", "each task is set aside", p, turns, stuck_from=1, budget=budget)


def runaway(r: Random) -> Scene:
    p = Project(r, tasks=2, cases=4, kind="script")
    turns = [p.turn(1, range(4), about=5_000)] + [
        p.turn(2, range(n % 4), about=70_000, pad=9 * n) for n in (1, 3, 2, 0, 1)
    ]
    budget = {"tokens": {"limit": 400_000, "on_exhaustion": "park"}}
    return plain("dear", STUCK, "runaway", "one task eats the budget", p, turns, stuck_from=2, most=7, budget=budget)


def same_read(r: Random) -> Scene:
    p = Project(r, cases=3)
    turns = [p.turn(1, [0]), *[[*[["search", "src"]] * r.randint(9, 14), p.uses(18_000)]] * 3]
    return plain(
        "same-search", STUCK, "same_call", "looks into one folder over and over", p, turns, stuck_from=2, most=4
    )


def same_times(r: Random) -> Scene:
    """One answer but for how long it took."""
    p = Project(r, cases=3)
    same = [["shell", "echo built in 0.$(date +%N) seconds, nothing to do"]] * 9
    turns = [p.turn(1, [0]), *[[*same, p.uses(18_000)]] * 3]
    return plain("same-but-times", STUCK, "same_call", "one answer but for the time", p, turns, stuck_from=2, most=4)


def same_error(r: Random) -> Scene:
    p = Project(r, cases=3)
    fails: Steps = []
    for n in range(9):
        fails += [
            ["shell", f"cd build{n} 2>/dev/null || {{ echo no build folder; exit 2; }}"],
            ["read", "src/__init__.py"],
        ]
    turns = [p.turn(1, [0]), *[[*fails, p.uses(15_000)]] * 3]
    return plain("one-error", STUCK, "same_error", "one error, with looks in between", p, turns, stuck_from=2, most=4)


def missing(r: Random) -> Scene:
    p = Project(r, cases=3)
    turns = [p.turn(1, [0]), *[[*[["read", "src/absent.py"]] * 8, p.uses(9_000)]] * 3]
    return plain("not-there", STUCK, "same_error", "reads a file that is not there", p, turns, stuck_from=2, most=4)


def cycle_2(r: Random) -> Scene:
    p = Project(r, cases=4)
    circle: Steps = [["shell", "cat PLAN.md"], ["search", "tests"]]
    turns = [p.turn(1, [0]), *[[*circle * 7, p.uses(20_000)]] * 3]
    return plain("to-and-fro", STUCK, "cycle", "two calls in turn", p, turns, stuck_from=2, most=4)


def cycle_3(r: Random) -> Scene:
    """It writes and takes back within the circle."""
    p = Project(r, cases=4)
    circle: Steps = [p.writes(1, [0], tag="a"), ["shell", "wc -l src/*.py | tail -n 1"], p.writes(1, [0], tag="b")]
    turns = [p.turn(1, [0]), *[[*circle * 5, p.uses(20_000)]] * 3]
    return Scene(
        "rewrites",
        STUCK,
        "cycle",
        "writes one thing and then the other",
        p.tasks(),
        p.files(),
        turns,
        stuck_from=2,
        most=4,
    )


def cycle_4(r: Random) -> Scene:
    p = Project(r, cases=4)
    circle: Steps = [["read", p.path()], p.tries(), ["search", "src"], ["read", "PLAN.md"]]
    turns = [p.turn(1, [0]), *[[*circle * 4, p.uses(20_000)]] * 3]
    return plain("rounds-of-four", STUCK, "cycle", "four calls in turn", p, turns, stuck_from=2, most=4)


def denied(r: Random) -> Scene:
    """The wording of its reason differs each time."""
    p = Project(r, cases=3)
    ask = [["ask", "shell", {"command": "rm -rf build"}, f"reason {r.random()}"] for _ in range(5)]
    turns = [p.turn(1, [0]), *[[*ask, p.uses(12_000)]] * 3]
    rules = {"deny": ["shell(rm -rf *)"]}
    about = "asks for what is denied, with new reasons"
    return Scene(
        "asks-again", STUCK, "same_denial", about, p.tasks(), p.files(), turns, stuck_from=2, most=4, approvals=rules
    )


def worded(r: Random) -> Scene:
    p = Project(r, cases=3)
    turns = [
        [["note", f"Idea {r.random()}: {word}"], *p.turn(1, [0, 1], off=r.randint(1, 500), pad=r.randint(0, 9))]
        for word in ("one", "two", "three", "four", "five", "six", "seven")
    ]
    return plain("many-ideas", STUCK, "wording", "new words for one failure", p, turns, stuck_from=2, most=7)


MADE = (
    *(stubborn, forgetful, forgetful_wide, wandering, hesitant, timid, stubborn_back, idle, idle_after_tasks, outside),
    *(oscillation, revert, period_2_ids, period_4, shrinking, times_out, crashes, nothing_repeats, aside, runaway),
    *(same_read, same_times, same_error, missing, cycle_2, cycle_3, cycle_4, denied, worded),
)
