"""The first half: what the thresholds were chosen on."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from trajectories.form import Label
from trajectories.making import Project, Steps
from trajectories.record import Scene

HEALTHY, STUCK = Label.HEALTHY, Label.STUCK
GIT = "git init -q; git config user.email w@example.org; git config user.name w; git add -A; git commit -qm start"


def scenes(seed: int) -> Iterator[Scene]:
    """All scenes, each with numbers of its own from the seed."""
    for number, make in enumerate((*healthy, *stuck)):
        yield make(Random(f"{seed}/{number}"))


# --- healthy --------------------------------------------------------------------------------------


def steady(r: Random) -> Scene:
    p = Project(r, tasks=2, cases=6)
    turns = [p.turn(1, range(2)), p.turn(1, range(4)), p.turn(1, range(6)), p.turn(2, range(3)), p.turn(2, range(6))]
    return Scene("steady", HEALTHY, "steady", "two tasks, each iteration a few cases more", p.tasks(), p.files(), turns)


def many_small(r: Random) -> Scene:
    p = Project(r, tasks=8, cases=1)
    turns = [p.turn(n, [0], about=2_000) for n in range(1, 9)]
    about = "eight small tasks, an iteration each"
    return Scene("many-small-tasks", HEALTHY, "many_small", about, p.tasks(), p.files(), turns, most=10)


def slow_build(r: Random) -> Scene:
    p = Project(r, cases=4)
    build = [["shell", "sleep 5.1 && echo built"]] * 4
    turns = [[*p.looks(), p.writes(1, [0, 1]), *build, p.uses()], [*p.looks(), p.writes(1, range(4)), p.uses()]]
    return Scene("slow-build", HEALTHY, "slow", "a build of some seconds again and again", p.tasks(), p.files(), turns)


def slow_tool(r: Random) -> Scene:
    """The pause does not show in the command."""
    p = Project(r, cases=3)
    files = p.files(**{"make.sh": "read -r _ < /dev/null; perl -e 'select undef, undef, undef, 5.2'; echo checked\n"})
    wait = [["shell", "sh make.sh"]] * 4
    turns = [[*p.looks(), *wait, p.writes(1, [0]), p.uses()], [*wait[:1], p.writes(1, range(3)), p.uses()]]
    return Scene("slow-tool", HEALTHY, "slow", "a tool that takes its time, with one answer", p.tasks(), files, turns)


def polling(r: Random) -> Scene:
    p = Project(r, cases=4)
    poll = [["shell", "sleep 0.2; cat state.txt"]] * r.randint(6, 8)
    turns = [[*p.looks(), *poll, p.writes(1, [0, 2]), p.uses()], [*poll, p.writes(1, range(4)), p.uses()]]
    files = p.files(**{"state.txt": "pending\n"})
    return Scene(
        "polling-pending", HEALTHY, "polling", "waits for a state that stays for long", p.tasks(), files, turns
    )


def polling_moves(r: Random) -> Scene:
    p = Project(r, cases=4)
    poll = [["shell", "n=$(cat done.txt); n=$((n + 7)); echo $n > done.txt; echo $n per cent"]] * r.randint(7, 9)
    files = p.files(**{"done.txt": "0\n", ".gitignore": "done.txt\n"})
    turns = [[*p.looks(), *poll, p.writes(1, [1]), p.uses()], [*poll[:5], p.writes(1, range(4)), p.uses()]]
    about = "polls fast, and each answer is another"
    return Scene("polling-moves", HEALTHY, "polling", about, p.tasks(), files, turns, setup=GIT)


def research(r: Random) -> Scene:
    p = Project(r, tasks=1, cases=5)
    library = {f"library/{word}.md": "\n".join(p.remarks(6)) for word in ("rates", "units", "forms", "terms")}
    reads: Steps = [["read", name] for name in library]
    notes = ["edit", "docs/notes.md", "\n".join(p.remarks(15))]
    turns = [[*p.looks(), *reads, p.uses(15_000)], [*reads[:2], notes, p.uses(9_000)]]
    turns += [p.turn(1, range(3)), p.turn(1, range(5))]
    about = "reads for an iteration without a change, then notes, then the work"
    return Scene("research", HEALTHY, "research", about, p.tasks(), p.files(**library), turns)


def refactoring(r: Random) -> Scene:
    """A script's first failure is all that is known; each stage of the work breaks at another place."""
    p = Project(r, cases=6, kind="script")
    turns = [p.turn(1, range(n), pad=r.randint(80, 250), about=20_000) for n in (1, 2, 4, 5, 6)]
    about = "a large change, nothing passes before its end"
    return Scene("late-payoff", HEALTHY, "refactoring", about, p.tasks(), p.files(), turns)


def one_in_three(r: Random) -> Scene:
    p = Project(r, tasks=3, cases=6)
    turns = [p.turn(task, range(good)) for task in (1, 2, 3) for good in (2, 4, 6)]
    about = "every third iteration verifies a task"
    return Scene("one-in-three", HEALTHY, "one_in_three", about, p.tasks(), p.files(), turns, most=10)


def provider_waits(r: Random) -> Scene:
    p = Project(r, cases=4)
    idle: Steps = [["read", p.path()], ["model", "what next"]]
    turns = [[["model", "begin"], *p.turn(1, [0, 1])], idle, idle, idle, [["model", "again"], *p.turn(1, range(4))]]
    return Scene(
        "provider-down",
        HEALTHY,
        "provider",
        "the model cannot be reached for three iterations",
        p.tasks(),
        p.files(),
        turns,
        answers=[200, *[503] * 12, 200],
    )


def commits(r: Random) -> Scene:
    p = Project(r, tasks=2, cases=4)
    save = ["shell", "git add -A && git commit -qm step && git log --oneline | wc -l"]
    turns = [[*p.turn(task, range(good)), save] for task in (1, 2) for good in (2, 4)]
    about = "the worker commits its work itself"
    return Scene("own-commits", HEALTHY, "commits", about, p.tasks(), p.files(), turns, setup=GIT)


def repositories(r: Random) -> Scene:
    p = Project(r, tasks=2, cases=4)
    turns: list[Steps] = []
    for task, where in ((1, "one"), (2, "two")):
        for good in (2, 4):
            inside = ["edit", f"{where}/part.txt", "\n".join(p.remarks(good))]
            save = ["shell", f"git -C {where} add -A && git -C {where} commit -qm part"]
            turns.append([*p.looks(task), inside, save, p.writes(task, range(good)), p.uses()])
    files = p.files(**{"one/part.txt": "", "two/part.txt": ""})
    setup = "; ".join(f"cd {d}; {GIT}; cd .." for d in ("one", "two"))
    about = "a workspace with several repositories"
    return Scene("several-repositories", HEALTHY, "repositories", about, p.tasks(), files, turns, setup=setup)


def big_diffs(r: Random) -> Scene:
    p = Project(r, cases=3)
    tables = [["edit", f"data/{n}.txt", "\n".join(p.remarks(r.randint(300, 600)))] for n in range(3)]
    turns = [[*p.looks(), table, p.writes(1, range(n + 1)), p.uses(30_000)] for n, table in enumerate(tables)]
    return Scene("big-diffs", HEALTHY, "big_diffs", "hundreds of lines each time", p.tasks(), p.files(), turns)


def regression(r: Random) -> Scene:
    """Task 2 undoes a part of task 1, which is opened again and mended."""
    p = Project(r, tasks=3, cases=3)
    breaks = p.writes(1, [0, 2])
    turns = [p.turn(1, range(3)), [breaks, *p.turn(2, range(3))], p.turn(1, range(3), tag="mended")]
    turns += [p.turn(3, range(2)), p.turn(3, range(3))]
    about = "a verified task fails again and is mended"
    return Scene("regression-mended", HEALTHY, "regression", about, p.tasks(), p.files(), turns)


def cold_start(r: Random) -> Scene:
    p = Project(r, cases=4)
    empty = {f"pkg{n}/__init__.py": "" for n in range(8)}
    reads = [["batch", [["read", {"path": name}] for name in empty]]]
    same = [["batch", [["read", {"path": "src/__init__.py"}]] * 5]]
    turns = [[*reads, *same, p.writes(1, [0, 1]), p.uses()], [*reads, p.writes(1, range(4)), p.uses()]]
    return Scene(
        "cold-start", HEALTHY, "parallel", "many reads at once, of empty files", p.tasks(), p.files(**empty), turns
    )


def edit_and_try(r: Random) -> Scene:
    """The check fails the same way between edits, as it should while a part is missing."""
    p = Project(r, cases=5)
    rounds: Steps = []
    for n in range(5):
        rounds += [p.writes(1, [0, 1], pad=3 * n), p.tries()]
    turns = [[*p.looks(), *rounds, p.uses()], p.turn(1, range(4)), p.turn(1, range(5))]
    about = "edits and tries, again and again, within an iteration"
    return Scene("edit-and-try", HEALTHY, "try_loop", about, p.tasks(), p.files(), turns)


def errors_in_prose(r: Random) -> Scene:
    p = Project(r, cases=3)
    logs = {f"logs/{n}.log": f"ERROR {n}: error: is_error false, {word} failed\n" for n, word in enumerate("abcdef")}
    reads: Steps = [["read", name] for name in logs]
    grep = ["shell", "grep -c error logs/*.log"]
    turns = [[*reads, grep, p.writes(1, [0]), p.uses()], [*reads, p.writes(1, range(3)), p.uses()]]
    return Scene("errors-in-prose", HEALTHY, "prose", "logs full of the word", p.tasks(), p.files(**logs), turns)


def recovers(r: Random) -> Scene:
    """Two failures of one class with little to show, and then it finds the way."""
    p = Project(r, cases=5)
    turns = [p.turn(1, [0]), p.turn(1, [0], off=2, pad=4), p.turn(1, [0, 1, 2]), p.turn(1, range(5))]
    return Scene("second-thoughts", HEALTHY, "recovers", "once in vain, then further", p.tasks(), p.files(), turns)


def third_time(r: Random) -> Scene:
    """Suspect, and no more: one rule alone, and then it is nudged and gets on."""
    p = Project(r, cases=5)
    turns = [p.turn(1, [0], off=n + 1, pad=4 * n) for n in range(3)] + [p.turn(1, range(3)), p.turn(1, range(5))]
    about = "three times in vain, then further"
    return Scene("third-time-lucky", HEALTHY, "recovers", about, p.tasks(), p.files(), turns)


def tapers(r: Random) -> Scene:
    """Diffs shrink because less is left to do."""
    p = Project(r, cases=6)
    turns = [p.turn(1, [0, 1, 2], pad=40), p.turn(1, [0, 1, 2, 3], pad=22), p.turn(1, range(5)), p.turn(1, range(6))]
    return Scene("tapers-off", HEALTHY, "tapers", "less and less is left to do", p.tasks(), p.files(), turns)


def cut_short(r: Random) -> Scene:
    """A limit of one iteration ends it before it could write."""
    p = Project(r, cases=4)
    library = {f"library/{n}.md": "\n".join(p.remarks(3)) for n in range(9)}
    reads: Steps = [["read", name] for name in library]
    pause: Steps = [["wait", 0.3]]
    turns = [p.turn(1, [0]), *[[*reads, *pause, p.uses()] for _ in range(2)], p.turn(1, range(4))]
    budget = {"tool_calls": {"limit": 200, "on_exhaustion": "park", "per_iteration": 7}}
    about = "a ceiling cuts two iterations short"
    return Scene("cut-short", HEALTHY, "cut_short", about, p.tasks(), p.files(**library), turns, budget=budget)


healthy = (
    *(steady, many_small, slow_build, slow_tool, polling, polling_moves, research, refactoring, one_in_three),
    *(provider_waits, commits, repositories, big_diffs, regression, cold_start, edit_and_try, errors_in_prose),
    *(recovers, third_time, tapers, cut_short),
)


# --- stuck ----------------------------------------------------------------------------------------


def idle(r: Random) -> Scene:
    p = Project(r, cases=4)
    turns = [[*p.looks(), p.tries(), p.uses(), ["claim", "done"]] for _ in range(7)]
    about = "it reads, claims to be done and changes nothing"
    return Scene("idle", STUCK, "no_op", about, p.tasks(), p.files(), turns, stuck_from=1, most=7)


def idle_later(r: Random) -> Scene:
    p = Project(r, cases=6)
    turns = [p.turn(1, range(2)), p.turn(1, range(3)), *[[*p.looks(), p.uses()] for _ in range(5)]]
    about = "after a good beginning it changes nothing"
    return Scene("idle-later", STUCK, "no_op", about, p.tasks(), p.files(), turns, stuck_from=3, most=8)


def oscillation(r: Random) -> Scene:
    p = Project(r, cases=2)
    turns = [p.turn(1, [n % 2], tag=f"try {n}") for n in range(9)]
    about = "mends one case and breaks the other, and back"
    return Scene("oscillation", STUCK, "oscillation", about, p.tasks(), p.files(), turns, stuck_from=1)


def revisit(r: Random) -> Scene:
    p = Project(r, cases=3)
    turns = [p.turn(1, [0], tag="by hand"), *[p.turn(1, [0], off=n % 2 + 1) for n in range(8)]]
    about = "goes to and fro between two trees"
    return Scene("revisit", STUCK, "revisit", about, p.tasks(), p.files(), turns, stuck_from=2)


def period(r: Random, length: int) -> Scene:
    p = Project(r, cases=length)
    ways = [[at for at in range(length) if at != n] for n in range(length)]
    turns = [p.turn(1, ways[n % length], tag=f"way {n}") for n in range(13)]
    name = f"period-{length}"
    about = f"{length} ways in turn, each fails elsewhere"
    return Scene(name, STUCK, "period", about, p.tasks(), p.files(), turns, stuck_from=1, most=13)


def period_3(r: Random) -> Scene:
    return period(r, 3)


def period_4(r: Random) -> Scene:
    return period(r, 4)


def shrinking(r: Random) -> Scene:
    """Each time another failure, so that only the size of the change tells."""
    p = Project(r, cases=4)
    errors = ("KeyError", "TypeError", "OSError", "ValueError", "IndexError", "LookupError", "EOFError")
    turns: list[Steps] = []
    notes: list[str] = []
    for error, lines in zip(errors, (90, 40, 12, 5, 3, 2, 1), strict=True):
        notes += p.remarks(lines)
        source = ["edit", p.path(), p.source() + f"raise {error}\n"]
        turns.append([*p.looks(), source, ["edit", "docs/why.md", "\n".join(notes) + "\n"], p.uses()])
    about = "smaller and smaller changes that lead nowhere"
    return Scene("shrinking", STUCK, "shrinking", about, p.tasks(), p.files(), turns, stuck_from=1, most=7)


def same_failure(r: Random) -> Scene:
    p = Project(r, cases=4)
    turns = [p.turn(1, [0, 1, 2], off=n + 1, pad=r.randint(0, 30)) for n in range(8)]
    about = "other patches each time, one failure"
    return Scene("same-failure", STUCK, "same_failure", about, p.tasks(), p.files(), turns, stuck_from=2, most=8)


def taken_back(r: Random) -> Scene:
    p = Project(r, cases=3)
    turns = [p.turn(1, [0, 1], off=n + 1, pad=r.randint(0, 20)) for n in range(8)]
    about = "each second failure takes the tree back, and it tries the same again"
    return Scene(
        *("taken-back", STUCK, "same_failure", about, p.tasks(), p.files(), turns),
        stuck_from=2,
        most=8,
        progress={"on_failed": "keep"},
    )


def other_words(r: Random) -> Scene:
    """The check words its failure anew each time: numbers, times, data."""
    p = Project(r, cases=2, kind="script")
    path = p.tests()
    text = p.files()[path].replace(
        "{found} is not {wanted}'", '{found} is not {wanted} at {__import__("time").time()}\''
    )
    turns = [[["note", f"Attempt {n}: {r.random()}"], *p.turn(1, [0], off=n + 2, pad=n)] for n in range(7)]
    about = "the failure is worded otherwise each time"
    return Scene(
        "other-words", STUCK, "wording", about, p.tasks(), p.files(**{path: text}), turns, stuck_from=2, most=7
    )


def nothing_repeats(r: Random) -> Scene:
    """No failure comes back, no tree, and no case ever passes that did not."""
    p = Project(r, cases=4)
    errors = ("KeyError", "TypeError", "OSError", "ValueError", "IndexError", "LookupError")
    turns: list[Steps] = []
    for n in range(9):
        source = p.source(1, [0], tag=f"stage {n}")
        wrong = f"raise {errors[n % len(errors)]}('{'abcdefghi'[n]}')"
        turns.append([*p.looks(), ["edit", p.path(), source + (wrong if n else "") + "\n"], p.uses()])
    about = "nothing repeats and nothing is solved"
    return Scene("nothing-repeats", STUCK, "stalled", about, p.tasks(), p.files(), turns, stuck_from=2)


def aside(r: Random) -> Scene:
    p = Project(r, tasks=6, cases=3)
    fills: Steps = [["shell", f"ls src | head -n {n}"] for n in range(1, 7)]
    turns = [[*fills, p.writes(task, [n], tag=f"{n}"), p.uses()] for task in range(1, 7) for n in range(2)]
    budget = {"tool_calls": {"limit": 500, "on_exhaustion": "park", "per_task": 12}}
    about = "task after task is set aside at a limit of its own"
    return Scene("set-aside", STUCK, "stalled", about, p.tasks(), p.files(), turns, stuck_from=1, budget=budget)


def same_call(r: Random) -> Scene:
    p = Project(r, cases=3)
    same = [["read", p.path()]] * 16
    turns = [p.turn(1, [0]), *[[*same, p.uses(20_000)]] * 3]
    about = "reads one file over and over"
    return Scene("same-call", STUCK, "same_call", about, p.tasks(), p.files(), turns, stuck_from=2, most=4)


def same_error(r: Random) -> Scene:
    """Other commands each time, one answer."""
    p = Project(r, cases=3)
    fails: Steps = [["shell", f"test -e build/{word} || {{ echo 'no toolchain'; false; }}"] for word in "abcdefghij"]
    turns = [p.turn(1, [0]), *[[*fails, p.uses(20_000)]] * 3]
    return Scene(
        "same-error",
        STUCK,
        "same_error",
        "one error, whatever it runs",
        p.tasks(),
        p.files(),
        turns,
        stuck_from=2,
        most=4,
    )


def cycle(r: Random, length: int) -> Scene:
    p = Project(r, cases=4)
    circle: Steps = [["read", p.path()], ["read", p.tests()], ["shell", "ls src"], ["shell", "ls tests"]][:length]
    turns = [p.turn(1, [0]), *[[*circle * 4, p.uses(25_000)]] * 3]
    about = f"goes round {length} calls"
    return Scene(f"cycle-{length}", STUCK, "cycle", about, p.tasks(), p.files(), turns, stuck_from=2, most=4)


def cycle_2(r: Random) -> Scene:
    return cycle(r, 2)


def cycle_3(r: Random) -> Scene:
    return cycle(r, 3)


def cycle_4(r: Random) -> Scene:
    return cycle(r, 4)


def denied(r: Random) -> Scene:
    p = Project(r, cases=3)
    push = ["ask", "shell", {"command": "git push origin main"}, "to publish"]
    turns = [
        [["ask", "shell", {"command": "git push origin main"}, f"to publish {n}"] for n in range(6)] for _ in range(3)
    ]
    turns = [[push, *p.turn(1, [0])], *[[*turn, p.uses(15_000)] for turn in turns]]
    rules = {"deny": ["shell(git push *)"]}
    about = "asks again and again for what is denied"
    return Scene(
        "denied", STUCK, "same_denial", about, p.tasks(), p.files(), turns, stuck_from=2, most=4, approvals=rules
    )


def runaway(r: Random) -> Scene:
    """Each failure is another, and each attempt costs twice as much."""
    p = Project(r, cases=6, kind="script")
    turns = [p.turn(1, range(3), about=12_000), p.turn(1, range(2), about=60_000, pad=30)]
    turns += [p.turn(1, range(n % 3), about=120_000, tag=f"{n}") for n in (4, 3, 5)]
    budget = {"tokens": {"limit": 350_000, "on_exhaustion": "park"}}
    about = "the budget goes and nothing is verified"
    return Scene("runaway", STUCK, "runaway", about, p.tasks(), p.files(), turns, stuck_from=2, most=6, budget=budget)


def empty_commits(r: Random) -> Scene:
    p = Project(r, cases=3)
    save = ["shell", "git commit -q --allow-empty -m progress && git log --oneline | wc -l"]
    turns = [[*p.turn(1, [0]), save], *[[*p.looks(), save, p.uses(), ["claim", "done"]]] * 5]
    about = "commits that hold nothing"
    return Scene("empty-commits", STUCK, "no_op", about, p.tasks(), p.files(), turns, stuck_from=2, most=6, setup=GIT)


def last_task(r: Random) -> Scene:
    p = Project(r, tasks=3, cases=3)
    turns = [p.turn(1, range(3)), p.turn(2, range(3)), *[p.turn(3, [0], off=n + 1, pad=2 * n) for n in range(7)]]
    about = "two tasks go well, the third does not move"
    return Scene("last-task", STUCK, "same_failure", about, p.tasks(), p.files(), turns, stuck_from=4)


stuck = (
    *(idle, idle_later, oscillation, revisit, period_3, period_4, shrinking, same_failure, taken_back, other_words),
    *(nothing_repeats, aside, same_call, same_error, cycle_2, cycle_3, cycle_4, denied, runaway, empty_commits),
    last_task,
)
