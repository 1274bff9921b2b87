"""What scenes are made of: small projects whose functions are right or wrong, checks that really run them, workers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from random import Random
from typing import Any

from trajectories.form import Label

Step = list[Any]
Steps = list[Step]

GIT = "git init -q; git config user.email w@example.org; git config user.name w; git add -A; git commit -qm start"

# fmt: off
MODULES = [
    "invoice", "ledger", "roster", "parcel", "tariff", "harbor", "orchard", "signal", "kiln", "ferry", "beacon",
    "quarry",
]
ACTS = [
    "round", "total", "merge", "parse", "split", "rank", "trim", "scale", "shift", "fold", "pack", "audit",
    "sort", "quote", "index", "clamp", "weigh", "draw",
]
WORDS = [
    "the", "value", "of", "a", "part", "is", "kept", "until", "its", "turn", "comes", "and", "then", "goes",
    "on", "to", "the", "next", "row", "of", "this", "table",
]
# fmt: on
REMARKS = (
    "Now I see what is wrong.",
    "Let me look at it from the other side.",
    "This should do it.",
    "A different idea this time.",
    "The cause must be elsewhere.",
    "I will try the direct way.",
    "One more detail was missing.",
    "That explains the failure.",
)


@dataclass
class Scene:
    """What is recorded: a workspace, what its worker does in each iteration, and what the run is to be called."""

    name: str
    label: Label
    shape: str
    about: str
    tasks: list[dict[str, Any]]
    files: dict[str, str]
    iterations: list[Steps]
    stuck_from: int | None = None
    most: int = 9
    budget: dict[str, Any] = field(default_factory=dict)
    progress: dict[str, Any] = field(default_factory=dict)
    approvals: dict[str, Any] = field(default_factory=dict)
    setup: str = ""
    answers: list[int] | None = None
    """Statuses with which a provider answers, the last one again when there are no more."""
    worker: str = "scripted"
    script: dict[str, Any] = field(default_factory=dict)
    """What a worker that decides for itself is told."""
    sandbox: str = "none"
    termination: dict[str, Any] = field(default_factory=dict)


class Project:
    """`tasks` modules of `cases` functions each. `kind` is how a task is checked: `unittest` names failing ids,
    `script` has an exit code and one line only."""

    def __init__(self, random: Random, tasks: int = 1, cases: int = 4, kind: str = "unittest") -> None:
        self.random, self.kind = random, kind
        self.modules = random.sample(MODULES, tasks)
        self.functions = {module: random.sample(ACTS, cases) for module in self.modules}
        self.right = {module: [random.randint(10, 99) for _ in range(cases)] for module in self.modules}

    # --- what is in the workspace ---------------------------------------------------------------

    def path(self, task: int = 1) -> str:
        return f"src/{self.modules[task - 1]}.py"

    def tests(self, task: int = 1) -> str:
        return f"tests/test_{self.modules[task - 1]}.py"

    def files(self, **more: str) -> dict[str, str]:
        numbers = range(1, len(self.modules) + 1)
        made = {self.path(n): self.source(n) for n in numbers} | {self.tests(n): self._test(n) for n in numbers}
        return {"src/__init__.py": "", "tests/__init__.py": "", **made, **more}

    def tasks(self, **check: Any) -> list[dict[str, Any]]:
        return [
            {"id": n, "task": f"Make the {module} right", "check": {"run": self.command(n), "repeat": 0, **check}}
            for n, module in enumerate(self.modules, 1)
        ]

    def command(self, task: int = 1) -> list[str]:
        name = f"test_{self.modules[task - 1]}"
        return (
            ["python", "-m", "unittest", f"tests.{name}"] if self.kind == "unittest" else ["python", self.tests(task)]
        )

    def source(self, task: int = 1, good: Collection[int] = (), *, off: int = 1, pad: int = 0, tag: str = "") -> str:
        """A module whose functions with these numbers are right and the rest is `off`; `pad` lines of remarks make it
        longer, `tag` makes it another."""
        module = self.modules[task - 1]
        lines = [f'"""The {module}{f", {tag}" if tag else ""}."""', ""]
        for at, (name, value) in enumerate(zip(self.functions[module], self.right[module], strict=True)):
            lines += ["", f"def {name}():", f"    return {value if at in good else value + off}", ""]
        return "\n".join(lines) + "".join(f"# {line}\n" for line in self.remarks(pad))

    def _test(self, task: int) -> str:
        module = self.modules[task - 1]
        wanted = dict(zip(self.functions[module], self.right[module], strict=True))
        if self.kind == "unittest":
            cases = "".join(
                f"\n    def test_{name}(self):\n        self.assertEqual({module}.{name}(), {value})\n"
                for name, value in wanted.items()
            )
            return f"import unittest\n\nfrom src import {module}\n\n\nclass Test(unittest.TestCase):{cases}"
        return (
            "import sys\n\nsys.path.insert(0, '.')\n"
            f"from src import {module}\n\n"
            f"for name, wanted in {wanted!r}.items():\n"
            f"    if (found := getattr({module}, name)()) != wanted:\n"
            "        sys.exit(f'error in {name}: {found} is not {wanted}')\n"
        )

    # --- what a worker does ---------------------------------------------------------------------

    def remarks(self, lines: int) -> list[str]:
        return [" ".join(self.random.choices(WORDS, k=8)) for _ in range(lines)]

    def looks(self, task: int = 1) -> Steps:
        """It finds its way about."""
        reads: Steps = [["read", self.path(task)], ["read", self.tests(task)], ["shell", "ls src tests"]]
        self.random.shuffle(reads)
        return [["note", self.random.choice(REMARKS)], *reads[: self.random.randint(1, 3)]]

    def writes(self, task: int = 1, good: Collection[int] = (), **how: Any) -> Step:
        return ["edit", self.path(task), self.source(task, good, **how)]

    def tries(self, task: int = 1) -> Step:
        """It runs the check itself."""
        return ["shell", " ".join(self.command(task)) + " 2>&1 | tail -n 4 | head -n 2"]

    def uses(self, about: int = 6_000) -> Step:
        return ["use", round(about * self.random.uniform(0.7, 1.3)), round(about / 10 * self.random.uniform(0.5, 1.5))]

    def turn(self, task: int = 1, good: Collection[int] = (), *, about: int = 6_000, **how: Any) -> Steps:
        """One usual iteration: look, write, use, claim."""
        steps: Steps = [*self.looks(task), self.writes(task, good, **how)]
        if self.random.random() < 0.3:
            steps.append(self.tries(task))
        return [*steps, self.uses(about), ["claim", "done"]]


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
