"""Healthy runs of the second half: other workers, other shapes, other numbers."""

from __future__ import annotations

from random import Random

from trajectories.form import Label
from trajectories.making import GIT, Project, Scene, Steps, plain, tempered

HEALTHY = Label.HEALTHY


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


MADE = (
    *(careful, careful_long, thorough, clumsy, in_walls, many_small, one_in_three, late_payoff, slow, polling),
    *(polling_error, polling_counts, reads_first, idle_twice, provider_waits, cut_short, commits, set_aside_once),
    *(regressions, big_move, dies_once, same_words),
)
