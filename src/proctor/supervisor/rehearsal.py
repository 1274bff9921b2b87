"""Whether the checks can start at all: asked of the very programs that they start, in the sandbox in which they run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from proctor.contract import ground
from proctor.contract.model import Contract
from proctor.contract.values import SandboxKind
from proctor.errors import UsageError
from proctor.journal.events import CheckFact
from proctor.oracle import rules, runners, visitor
from proctor.oracle.freeze import freeze
from proctor.oracle.frozen import is_within
from proctor.oracle.toolchains import commands, discovery, owners, supports
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Policy
from proctor.sandbox.run import run
from proctor.sandbox.running import Backend
from proctor.supervisor import awaiting, policies
from proctor.supervisor.terms import Terms
from proctor.text import safe_line
from proctor.trees import scratch_folder
from proctor.workspace import tasks

SECONDS = 30.0
MOST_OUTPUT = 1 << 16
_PROFILE = "/tmp/browser"  # noqa: S108 - the sandbox's own
_MEND = "install it there, or name a program that has it by its path"


def unrunnable(workspace: Path, contract: Contract) -> tuple[str, ...]:
    """The required checks that could not start, a line for each cause: its key or task, the command, why, what to do.

    One that is not there is left to the check before the work if it lies in the workspace: an earlier check may make
    it. Unrecoverable where there is no sandbox. Blocks for as long as the programs take to say their version.
    """
    trials: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {}
    found = []
    for key, check in _required(workspace, contract):
        for argv in filter(None, (check.run, check.page.run if check.page else ())):
            if "/" not in argv[0] or (workspace / argv[0]).exists():
                trials.setdefault(commands.trial(argv), {}).setdefault(key, argv)
        if check.page and (browser := check.page.browser) and contract.sandbox.kind is SandboxKind.BWRAP:
            trial = visitor.browse(browser, _PROFILE, visitor.PLAIN)
            trials.setdefault(trial, {}).setdefault(key, (browser,))
        found += [safe_line(_inside(key, why), 600) for why in _unusable(check, workspace, contract)]
    backend = choose(contract.sandbox.kind)
    policy = replace(policies.for_check(workspace, contract), writable=False)
    with scratch_folder() as scratch:
        for trial, checks in trials.items():
            (key, argv), *others = checks.items()
            if why := _fails(backend, trial, argv[0], policy, scratch / "output"):
                more = f" and {len(others)} more" if others else ""
                said = f"{key}{more}: `{shlex.join(argv)}` cannot run in the sandbox: {why}; {_MEND}"
                found.append(safe_line(said, 600))
    return tuple(dict.fromkeys(found))


def kept(workspace: Path, contract: Contract) -> tuple[str, ...]:
    """Files that a worker could not change because checks rest on them, though they may be the work: a line each."""
    found: dict[str, str] = {}
    every = list(_required(workspace, contract))
    for key, check in every:
        if key != "progress.smoke":
            owned = owners.owned(check) - set(contract.state.entrust)
            found |= {path: key for path in sorted(owned) if (workspace / path).is_file()}
    lines = [
        f"{key}: what a worker does to {path} is undone, since a check judged by its exit code owns its script; if "
        "it is the work, say what has to come out of it (`expect`, `artifact`), or name it under state.entrust"
        for path, key in found.items()
    ]
    return tuple(safe_line(line, 600) for line in (*lines, *_named(workspace, contract, [c for _, c in every])))


def unwritten(workspace: Path, contract: Contract) -> tuple[str, ...]:
    """Checks that rest on what the worker would write: a line each."""
    return awaiting.told(workspace, contract, _required(workspace, contract))


def _named(workspace: Path, contract: Contract, checks: Sequence[CheckFact]) -> Iterator[str]:
    """What tasks name and checks rest on: a line for each task."""
    names, runs = contract.state, [check.run for check in checks]
    try:
        listed = tasks.read(workspace, names.tasks, names.plan, ())
        headings = tasks.headings(workspace, names.tasks)
        with scratch_folder() as scratch:
            work, ignored = owners.of_work(checks), ground.ignored(workspace).paths
            frozen = freeze(workspace, scratch / "oracle", (), runs, ignored, work=work, entrust=names.entrust)
            free = {path for path in frozen.supports if not supports.holds(discovery.read(workspace / path))}
    except UsageError:  # said elsewhere
        return
    own = {path for run in runs for path in commands.named_paths(run)}
    free |= {*names.protect, *names.hide, *own}
    held = [item.path for item in frozen.items if not is_within(item.path, free)]
    for heading, task in zip(headings, listed, strict=False):
        if told := [path for path in held if any(_says(task.task, name) for name in _names(path, held))][:3]:
            paths = ", ".join(told)
            yield (
                f"{heading}: names {paths}, on which checks rest, so that what a worker does to it is undone; if the "
                f"task is to change it: state.entrust: [{paths}]"
            )


def _says(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-])", text) is not None


def _names(path: str, held: Sequence[str]) -> Iterator[str]:
    """What a text calls a file: its path, and its name alone where no other has it."""
    name = path.rpartition("/")[2]
    yield path
    if sum(one.rpartition("/")[2] == name for one in held) == 1:
        yield name


def _fails(backend: Backend, trial: Sequence[str], program: str, policy: Policy, output: Path) -> str:
    ended = run(backend, trial, policy, SECONDS, output, MOST_OUTPUT)
    if ended.timed_out and visitor.PLAIN in trial:
        return f"{program} comes to no end with a plain page"
    if ended.timed_out or ended.exit.code == 0:
        return ""
    if not ended.exit.ran or ended.exit.code in (126, 127):
        return f"{program} was not found or cannot be started"
    return runners.last_words(output.read_bytes()) or f"{program} does not start"


def _unusable(check: CheckFact, workspace: Path, contract: Contract) -> Iterator[str]:
    yield from rules.unusable(check, workspace)
    if check.page and contract.sandbox.kind is not SandboxKind.BWRAP:
        yield "page: needs a network of its own, which only `sandbox.kind: bwrap` gives"


def _inside(key: str, why: str) -> str:
    """What is wrong with a part of a check that stands at a key of the contract, or in a task."""
    return f"{key}: {why}" if " " in key else f"{key}.{why}"


def _required(workspace: Path, contract: Contract) -> Iterator[tuple[str, CheckFact]]:
    """The checks that decide, each with its key, or with the line of its task; those for tasks that name none, only
    while there is such a task."""
    terms, names = Terms(contract, ""), contract.state
    default = terms.default_checks()
    try:
        listed = [task.checks for task in tasks.read(workspace, names.tasks, names.plan, default)]
        headings = tasks.headings(workspace, names.tasks)
    except UsageError:  # said elsewhere
        listed, headings = [default], []
    for number, checks in enumerate(listed):
        for at, check in enumerate(checks):
            if not check.optional:
                yield f"progress.checks[{at}]" if checks == default else headings[number], check
    yield from (("progress.smoke", check) for check in terms.smoke_checks())
    yield from (("termination.final", check) for check in terms.final_checks())
