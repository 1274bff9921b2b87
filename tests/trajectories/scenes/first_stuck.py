"""Stuck runs of the first half, on which the thresholds were settled."""

from __future__ import annotations

from random import Random

from trajectories.form import Label
from trajectories.making import GIT, Project, Scene, Steps

STUCK = Label.STUCK


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


MADE = (
    *(idle, idle_later, oscillation, revisit, period_3, period_4, shrinking, same_failure, taken_back, other_words),
    *(nothing_repeats, aside, same_call, same_error, cycle_2, cycle_3, cycle_4, denied, runaway, empty_commits),
    last_task,
)
