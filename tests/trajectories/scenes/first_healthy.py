"""Healthy runs of the first half, on which the thresholds were settled."""

from __future__ import annotations

from random import Random

from trajectories.form import Label
from trajectories.making import GIT, Project, Scene, Steps

HEALTHY = Label.HEALTHY


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


MADE = (
    *(steady, many_small, slow_build, slow_tool, polling, polling_moves, research, refactoring, one_in_three),
    *(provider_waits, commits, repositories, big_diffs, regression, cold_start, edit_and_try, errors_in_prose),
    *(recovers, third_time, tapers, cut_short),
)
