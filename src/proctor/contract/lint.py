"""`proctor check`: the contract in plain words, what it leaves unanswered, and where it is the wrong tool."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proctor.contract import ground, plain, starter
from proctor.contract.check import Check
from proctor.contract.model import Contract
from proctor.contract.problems import A_CHECK
from proctor.contract.queue import Queue, peek
from proctor.contract.values import SandboxKind
from proctor.text import safe_line
from proctor.units import format_size
from proctor.words import Dimension

SHORT_SPEC = 4_096
"""Bytes of a spec up to which one task fits one context with ease."""
MANY_FILES = 2_000
LARGE_SIZE = 200 << 20
"""Ignored files, and their bytes, from which on a warning says that nothing there can be undone."""
_SCRIPTS = (".py", ".sh", ".js")
_INTERPRETER = re.compile(r"(.*/)?(python[\d.]*|sh|bash|node)$")


@dataclass(frozen=True, slots=True)
class Facts:
    """What other rooms know and a contract does not say; what is not known is left out.

    Seconds of the check and of the worker are those of a typical task. `unstable` counts verdicts that did
    not repeat, `oscillations` trees that came back after differing; `ungated` are acts that reach outside
    and that the approvals let through unasked. `repository` is the folder whose git repository the workspace
    belongs to, "" for none. `unrunnable` are checks that cannot start, a line each with its key first; `unpriced`
    models whose cost is capped and not known, each with the nearest name that has a price, "" where none is near.
    """

    check_seconds: float | None = None
    act_seconds: float | None = None
    unstable: int = 0
    oscillations: int = 0
    ungated: tuple[str, ...] = ()
    repository: str | None = None
    unrunnable: tuple[str, ...] = ()
    unpriced: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """One of the four questions and what the contract answers, a sentence a line."""

    question: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What `proctor check` says. With anything `unanswered` the contract is not fit to run."""

    answers: tuple[Answer, ...]
    sandbox: tuple[str, ...]
    ceilings: tuple[str, ...]
    warnings: tuple[str, ...]
    unanswered: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """The whole as text, line by line."""
        for answer in (*self.answers, Answer("What holds the worker?", self.sandbox)):
            yield answer.question
            yield from (f"  {safe_line(line)}" for line in answer.lines)
            yield ""
        yield from (f"warning: {safe_line(line)}" for line in self.warnings)
        yield from (f"unanswered: {safe_line(line)}" for line in self.unanswered)

    def __str__(self) -> str:
        return "\n".join(self.lines())


def explain(contract: Contract, workspace: Path, facts: Facts | None = None) -> Explanation:
    """Say what a loaded contract means here. Reads the workspace, runs nothing of it."""
    queue, facts = peek(workspace, contract.state), facts or Facts()
    ceilings = plain.ceilings(contract)
    return Explanation(
        answers=(
            Answer("What survives a restart, and what does not?", tuple(plain.survives(contract, facts.repository))),
            Answer("What may it cost, and what then?", (*ceilings, *plain.beyond_the_ceilings(contract))),
            Answer("What proves progress?", tuple(plain.progress(contract, queue))),
            Answer("Who decides that it is over?", tuple(plain.termination(contract))),
        ),
        sandbox=tuple(plain.walls(contract, facts.repository)),
        ceilings=ceilings,
        warnings=(
            *_wrong_tool(workspace, queue, facts),
            *_blast(contract, workspace),
            *_loose_ends(contract, queue),
            *_without_price(facts),
            *_absent(contract, workspace),
        ),
        unanswered=(*_unanswered(contract, queue), *facts.unrunnable),
    )


def _required(contract: Contract) -> list[Check]:
    return [check for check in contract.progress.checks if not check.optional]


def no_upstream(contract: Contract) -> str:
    """What is missing where the worker is an agent that is known and no model is named to the gateway; else nothing."""
    worker = contract.worker
    name = worker.agent or worker.kind
    agent = next((one for one in ground.AGENTS if name == (one.agent or one.kind)), None)
    if agent is None or contract.gateway.upstream:
        return ""
    return (
        f"gateway.upstream: where is the model? {name} reaches one through the gateway alone; e.g. "
        f"gateway: {{upstream: {{{agent.upstream}: {{base_url: {json.dumps(agent.base_url)}, key: env:{agent.key}}}}}}}"
    )


def _unanswered(contract: Contract, queue: Queue) -> Iterator[str]:
    state = contract.state
    if contract.goal == starter.GOAL:
        yield "goal: it is still a question; say in one sentence what shall be true at the end"
    if missing := no_upstream(contract):
        yield missing
    if any(check.run == starter.NO_CHECK for check in _required(contract)):
        yield f"progress.checks: the check `false` never passes; name a command that proves a task done, {A_CHECK}"
    if not queue.readable:
        yield f"state.tasks: {state.tasks} or {state.plan} cannot be read, so nothing says when it is over"
    elif not queue.total:
        yield (
            f"state.tasks: there is no task, so nothing says when it is over; write {state.tasks}, "
            f"or `- [ ]` items in {state.plan}"
        )


def _wrong_tool(workspace: Path, queue: Queue, facts: Facts) -> Iterator[str]:
    if queue.total == 1 and sum(_size(workspace / spec) for spec in queue.specs) <= SHORT_SPEC:
        yield "this is one short task and fits one context: the agent alone does it with less machinery"
    check, act = facts.check_seconds, facts.act_seconds
    if check is not None and act is not None and check > act:
        yield (
            f"the check costs more than the work ({check:.0f} s a task against {act:.0f} s): "
            "give tasks narrower checks, and keep the whole suite for termination.final"
        )
    if facts.unstable:
        yield f"the check is unstable ({facts.unstable} verdicts did not repeat): until it is mended it proves nothing"
    if facts.oscillations:
        yield (
            f"the history oscillates (an earlier tree came back {facts.oscillations} times): the checks pull two ways, "
            "which no checkpoint cures; fix the evaluator first"
        )
    if facts.ungated:
        yield (
            f"actions that can be neither keyed nor asked about would go ahead unasked: {', '.join(facts.ungated)}; "
            "narrow approvals.allow, or name them in approvals.ask"
        )


def _blast(contract: Contract, workspace: Path) -> Iterator[str]:
    if not {Dimension.FILES_TOUCHED, Dimension.LINES_CHANGED, Dimension.BYTES_WRITTEN} & set(contract.budget.ceilings):
        yield "no ceiling bounds how much may change: give files_touched, lines_changed or bytes_written a limit"
    ignored = ground.ignored(workspace)
    if ignored.files >= MANY_FILES or ignored.size >= LARGE_SIZE:
        named = ", ".join(ignored.paths[:4]) + (", …" if len(ignored.paths) > 4 else "")
        yield (
            f"what git ignores is large (at least {ignored.files} files, {format_size(ignored.size)}: {named}) "
            "and in no checkpoint but for small files: what a worker does there cannot be undone; "
            "state.checkpoint.include names what is to be kept"
        )


def _loose_ends(contract: Contract, queue: Queue) -> Iterator[str]:
    if contract.sandbox.kind is SandboxKind.WEAK:
        yield "the sandbox is weak: files are guarded, processes and network are not"
    if contract.sandbox.kind is SandboxKind.NONE:
        yield "there is no sandbox: the worker can do what you can, and answer its own requests"
    if not _required(contract) and queue.checked < queue.total:
        yield f"{queue.total - queue.checked} of {queue.total} tasks have no check: they end in review, never done"
    if not {Dimension.WALL_CLOCK, Dimension.ELAPSED, Dimension.ITERATIONS} & set(contract.budget.ceilings):
        yield "no ceiling on time or iterations: a worker that reports nothing is held by estimates alone"
    if not contract.progress.plateau.windows:
        yield "every plateau rule is off: only a ceiling ends a session that does not advance"
    if not contract.progress.plateau.loops:
        yield "every rule inside an iteration is off: only a ceiling ends a worker that repeats one call"
    if Dimension.COST in contract.budget.ceilings and contract.worker.model is None:
        yield "cost has a ceiling and worker.model is not named: without a price the session parks as `unpriced`"
    if not contract.state.protect:
        yield "state.protect is empty: name what the checks rest on (tests, fixtures, scripts), or it may be bent"


def _without_price(facts: Facts) -> Iterator[str]:
    for model, nearest in facts.unpriced:
        near = f"; nearest: {nearest}" if nearest else ""
        yield (
            f"cost has a ceiling and no price is known of {model}{near}: its calls will be refused, and the session "
            "parks as `unpriced`; mend the name, or give its price in gateway.prices (0 is free)"
        )


def _absent(contract: Contract, workspace: Path) -> Iterator[str]:
    for path in (*contract.state.protect, *contract.state.hide):
        if not os.path.lexists(workspace / path):
            yield f"{path} is not there, so nothing of it is guarded"
    for path in filter(lambda path: (workspace / path).is_symlink(), contract.state.protect):
        place = os.path.relpath(os.path.realpath(workspace / path), os.path.realpath(workspace))
        if not any(f"{place}/".startswith(f"{other}/") for other in contract.state.protect):
            yield f"{path} is a link to {place}, which is not protected: only the link is"
    final = contract.termination.final
    command = contract.worker.command or ()
    checks = (*contract.progress.checks, *filter(None, (contract.progress.smoke, final)))
    runs = [(check.optional, run) for check in checks for run in (check.run, check.page and check.page.run) if run]
    programs = {run[0] for optional, run in runs if optional or "/" in run[0]}
    for program in sorted(programs | set(contract.state.environment.tools) | set(command[:1])):
        if not ((workspace / program).exists() if "/" in program else shutil.which(program)):
            yield f"{program} is not {'there' if '/' in program else 'on PATH'}"
    for word in command[1:]:
        if word.endswith(_SCRIPTS) and not (workspace / word).exists():
            yield f"{word}, which the worker's command names, is not there"
    for script in dict.fromkeys(run[1] for _, run in runs if _INTERPRETER.match(run[0]) and run[1:]):
        if script.endswith(_SCRIPTS) and not (workspace / script).exists():
            yield f"{script}, which a check runs, is not there: it cannot pass"
    for name, upstream in contract.gateway.upstream.items():
        kind, _, variable = (upstream.key or "").partition(":")
        if kind == "env" and variable not in os.environ:
            yield f"gateway.upstream.{name}: {variable} is not set in your environment"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
