"""The second half: made when the thresholds were fixed. Other workers, other shapes, other numbers.

Most workers here are those in plain shell, or those that look at what fails and decide by their temper.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from trajectories.form import Label
from trajectories.making import Project, Steps
from trajectories.record import Scene
from trajectories.scenes_first import GIT

HEALTHY, STUCK = Label.HEALTHY, Label.STUCK


def scenes(seed: int) -> Iterator[Scene]:
    """All scenes, each with numbers of its own from the seed."""
    for number, make in enumerate((*healthy, *stuck)):
        yield make(Random(f"second/{seed}/{number}"))


def tempered(r: Random, temper: str, name: str, label: Label, shape: str, about: str, cases: int, **more: Any) -> Scene:
    """A worker that decides by itself."""
    p = Project(r, cases=cases)
    script = {
        "temper": temper,
        "seed": r.randint(1, 10**6),
        "module": p.path(),
        "tests": p.tests(),
        "check": " ".join(p.command()),
        **more.pop("script", {}),
    }
    files = p.files(**more.pop("files", {}))
    return Scene(name, label, shape, about, p.tasks(), files, [], worker="tempered", script=script, **more)


def plain(name: str, label: Label, shape: str, about: str, p: Project, turns: list[Steps], **more: Any) -> Scene:
    """A worker in plain shell."""
    files = p.files(**more.pop("files", {}))
    return Scene(name, label, shape, about, p.tasks(), files, turns, worker="plain", **more)


# --- healthy --------------------------------------------------------------------------------------


def careful(r: Random) -> Scene:
    about = "mends one or two of what fails, each time"
    return tempered(r, "careful", "careful", HEALTHY, "steady", about, 7)


def careful_long(r: Random) -> Scene:
    about = "a long way, a little each time"
    return tempered(r, "careful", "long-way", HEALTHY, "long", about, 11, most=12)


def thorough(r: Random) -> Scene:
    library = {f"library/{n}.md": f"Part {n}.\n" for n in range(5)}
    about = "reads and tidies up, and every second time mends something"
    return tempered(r, "thorough", "thorough", HEALTHY, "research", about, 8, files=library)


def clumsy(r: Random) -> Scene:
    about = "two steps forward and one back"
    return tempered(r, "clumsy", "clumsy", HEALTHY, "clumsy", about, 6)


def in_walls(r: Random) -> Scene:
    about = "mends what fails, in a sandbox with walls"
    return tempered(r, "thorough", "thorough-walled", HEALTHY, "research", about, 6, sandbox="bwrap")


def many_small(r: Random) -> Scene:
    p = Project(r, tasks=10, cases=1)
    turns = [p.turn(n, [0], about=1_200) for n in range(1, 11)]
    return plain("ten-tasks", HEALTHY, "many_small", "ten tasks, an iteration each", p, turns, most=12)


def one_in_three(r: Random) -> Scene:
    p = Project(r, tasks=2, cases=5)
    turns = [p.turn(1, range(n)) for n in (1, 3, 5)] + [p.turn(2, range(n)) for n in (2, 4, 5)]
    return plain("every-third", HEALTHY, "one_in_three", "every third iteration verifies a task", p, turns)


def late_payoff(r: Random) -> Scene:
    p = Project(r, cases=6, kind="script")
    parts = [
        ["edit", f"src/part{n}.py", "\n".join(f"# {line}" for line in p.remarks(r.randint(60, 180)))] for n in range(4)
    ]
    turns = [[*p.looks(), part, p.writes(1, range(n + 1)), p.uses(25_000)] for n, part in enumerate(parts)]
    turns += [[*p.looks(), p.writes(1, range(6)), p.uses(9_000)]]
    return plain("large-move", HEALTHY, "refactoring", "large moves, and only the last makes it pass", p, turns)


def slow(r: Random) -> Scene:
    p = Project(r, cases=4)
    files = {"build.sh": "perl -e 'select undef, undef, undef, 5.1'; echo up to date\n"}
    turns = [[*[["shell", "sh build.sh"]] * 5, p.writes(1, [0, 1]), p.uses()], [p.writes(1, range(4)), p.uses()]]
    return plain(
        "slow-answers", HEALTHY, "slow", "a tool of five seconds, always the same answer", p, turns, files=files
    )


def polling(r: Random) -> Scene:
    p = Project(r, cases=3)
    poll = [["shell", f"sleep 0.{r.randint(1, 3)} && cat state.txt"]] * r.randint(9, 12)
    turns = [[*poll, p.writes(1, [0]), p.uses()], [*poll, p.writes(1, range(3)), p.uses()]]
    return plain("long-poll", HEALTHY, "polling", "waits long for one state", p, turns, files={"state.txt": "queued\n"})


def polling_error(r: Random) -> Scene:
    """What is waited for is not there yet, and to ask for it fails."""
    p = Project(r, cases=3)
    poll = [["shell", "sleep 0.1; test -e ready || { echo 'connection refused'; false; }"]] * 6
    turns = [[*poll, p.writes(1, [0]), p.uses()], [["shell", "echo up > ready"], p.writes(1, range(3)), p.uses()]]
    return plain("poll-fails", HEALTHY, "polling", "waits for a server that is not up yet", p, turns)


def polling_counts(r: Random) -> Scene:
    p = Project(r, cases=4)
    poll = [["shell", "echo x >> ticks.txt; wc -l < ticks.txt"]] * r.randint(8, 14)
    turns = [[*poll, p.writes(1, [0, 1]), p.uses()], [*poll[:6], p.writes(1, range(4)), p.uses()]]
    files = {".gitignore": "ticks.txt\n"}
    return plain("poll-counts", HEALTHY, "polling", "each answer counts on", p, turns, files=files, setup=GIT)


def reads_first(r: Random) -> Scene:
    p = Project(r, cases=4)
    library = {f"docs/{n:02}.md": "\n".join(p.remarks(2)) for n in range(14)}
    reads: Steps = [["search", "docs"], *[["read", name] for name in library], ["search", "src"]]
    turns = [[*reads, p.uses(30_000)], [*reads[:6], p.writes(1, [0, 1]), p.uses()], p.turn(1, range(4))]
    return plain("reads-first", HEALTHY, "research", "reads all there is before it writes", p, turns, files=library)


def idle_twice(r: Random) -> Scene:
    """An iteration without a change, some work, and another one."""
    p = Project(r, cases=6)
    look: Steps = [*p.looks(), ["search", "src"], p.uses(12_000)]
    turns = [look, p.turn(1, range(3)), look, p.turn(1, range(5)), p.turn(1, range(6))]
    return plain("looks-twice", HEALTHY, "research", "looks for an iteration, works, looks again", p, turns)


def provider_waits(r: Random) -> Scene:
    p = Project(r, tasks=2, cases=2)
    idle: Steps = [["shell", "ls src"], ["model", "where am I"]]
    turns = [[["model", "begin"], *p.turn(1, [0])], idle, idle, idle, [["model", "on"], *p.turn(1, [0, 1])]]
    turns += [[["model", "on"], *p.turn(2, [0, 1])]]
    about = "the provider is down for three iterations"
    return Scene(
        *("provider-outage", HEALTHY, "provider", about, p.tasks(), p.files(), turns), answers=[200, *[502] * 12, 200]
    )


def cut_short(r: Random) -> Scene:
    p = Project(r, cases=4)
    library = {f"library/{n}.md": "\n".join(p.remarks(2)) for n in range(12)}
    reads: Steps = [[["read", name]] for name in library]
    read = [step for one in reads for step in (*one, ["wait", 0.1])]
    turns = [*[[*read, p.uses()]] * 3, p.turn(1, [0, 1]), p.turn(1, range(4))]
    budget = {"tool_calls": {"limit": 300, "on_exhaustion": "park", "per_iteration": 8}}
    about = "a ceiling cuts three iterations short before they write"
    return plain("cut-thrice", HEALTHY, "cut_short", about, p, turns, files=library, budget=budget)


def commits(r: Random) -> Scene:
    p = Project(r, tasks=3, cases=2)
    save = ["shell", "git add -A && git commit -qm part && git rev-list --count HEAD"]
    turns = [[*p.turn(task, range(good)), save, save] for task in (1, 2, 3) for good in (1, 2)]
    return plain(
        "commits-all", HEALTHY, "commits", "commits after each change, and once too often", p, turns, setup=GIT
    )


def set_aside_once(r: Random) -> Scene:
    """One task is too dear and set aside; the others go well."""
    p = Project(r, tasks=4, cases=3)
    fills: Steps = [["shell", f"ls src tests | head -n {n}"] for n in range(1, 8)]
    turns = [[*fills, p.writes(1, [0]), p.uses()], [*fills, p.writes(1, [0, 1]), p.uses()]]
    turns += [[p.writes(n, range(good)), p.uses()] for n in (2, 3, 4) for good in (2, 3)]
    budget = {"tool_calls": {"limit": 400, "on_exhaustion": "park", "per_task": 15}}
    about = "one task is set aside, the others are verified"
    return plain("one-aside", HEALTHY, "aside", about, p, turns, budget=budget, most=10)


def regressions(r: Random) -> Scene:
    p = Project(r, tasks=3, cases=2)
    turns = [p.turn(1, range(2)), [p.writes(1, [1]), *p.turn(2, range(2))], p.turn(1, range(2), tag="once more")]
    turns += [[p.writes(2, [0]), *p.turn(3, range(2))], p.turn(2, range(2), tag="again")]
    return plain("two-regressions", HEALTHY, "regression", "breaks what was verified, twice, and mends it", p, turns)


def big_move(r: Random) -> Scene:
    p = Project(r, tasks=2, cases=3)
    turns = []
    for task in (1, 2):
        for good in (1, 3):
            many = [["edit", f"lib{n}/part.txt", "\n".join(p.remarks(r.randint(20, 90)))] for n in range(6)]
            turns.append([*many, p.writes(task, range(good)), p.uses(40_000)])
    files = {f"lib{n}/part.txt": "" for n in range(6)}
    return plain("wide-changes", HEALTHY, "big_diffs", "many files each time", p, turns, files=files)


def dies_once(r: Random) -> Scene:
    p = Project(r, cases=4)
    crash: Steps = [*p.looks(), p.writes(1, [0]), ["shell", "kill -9 $PPID"]]
    turns = [crash, p.turn(1, range(2)), p.turn(1, range(4))]
    about = "the worker dies once, and the next goes on"
    return Scene("dies-once", HEALTHY, "dies", about, p.tasks(), p.files(), turns)


def same_words(r: Random) -> Scene:
    """The end of each iteration is the same, and none of it is a circle."""
    p = Project(r, cases=5)
    ritual: Steps = [["read", "PLAN.md"], ["shell", "ls src"], ["shell", "ls src"], ["read", "PLAN.md"]]
    turns = [[*ritual, p.writes(1, range(good)), *ritual, p.uses()] for good in (1, 2, 4, 5)]
    return plain("rituals", HEALTHY, "rituals", "the same calls at each beginning and end", p, turns)


healthy = (
    *(careful, careful_long, thorough, clumsy, in_walls, many_small, one_in_three, late_payoff, slow, polling),
    *(polling_error, polling_counts, reads_first, idle_twice, provider_waits, cut_short, commits, set_aside_once),
    *(regressions, big_move, dies_once, same_words),
)


# --- stuck ----------------------------------------------------------------------------------------


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


stuck = (
    *(stubborn, forgetful, forgetful_wide, wandering, hesitant, timid, stubborn_back, idle, idle_after_tasks, outside),
    *(oscillation, revert, period_2_ids, period_4, shrinking, times_out, crashes, nothing_repeats, aside, runaway),
    *(same_read, same_times, same_error, missing, cycle_2, cycle_3, cycle_4, denied, worded),
)
