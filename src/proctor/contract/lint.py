"""`proctor check`: the contract in plain words, what it leaves unanswered, and where it is the wrong tool."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.contract import ground, plain, starter, testfiles
from proctor.contract.check import Check
from proctor.contract.model import Contract
from proctor.contract.problems import A_CHECK, located
from proctor.contract.queue import Queue, peek
from proctor.contract.values import SandboxKind
from proctor.contract.wrong import nearest
from proctor.text import safe_line
from proctor.units import format_size
from proctor.words import AtSoft, Dimension, Exhaustion

SHORT_SPEC = 4_096
"""Bytes of a spec up to which one task fits one context with ease."""
MANY_FILES = 2_000
LARGE_SIZE = 200 << 20
"""Ignored files, and their bytes, from which on a warning says that nothing there can be undone."""
_NAMED = 3
"""Paths that a warning names."""
_SCRIPTS = (".py", ".sh", ".js")
_INTERPRETER = re.compile(r"(.*/)?(python[\d.]*|sh|bash|node)$")


@dataclass(frozen=True, slots=True)
class Facts:
    """What other rooms know and a contract does not say; what is not known is left out.

    Seconds of the check and of the worker are those of a typical task. `unstable` counts verdicts that did
    not repeat, `oscillations` trees that came back after differing; `ungated` are acts that reach outside
    and that the approvals let through unasked. `repository` is the folder whose git repository the workspace
    belongs to, "" for none. `faults` are those of the task list, `unrunnable` checks that cannot start, `kept` files
    that checks rest on and that may be the work, a line each with its place first; `unwritten` checks that rest on
    what is not there yet; `unpriced` models whose cost is capped and not known, each with the nearest name that has a
    price, "" where none is near.
    """

    check_seconds: float | None = None
    act_seconds: float | None = None
    unstable: int = 0
    oscillations: int = 0
    ungated: tuple[str, ...] = ()
    repository: str | None = None
    unrunnable: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    unwritten: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
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
        warnings=tuple(
            located(contract, line)
            for line in (
                *_wrong_tool(workspace, queue, facts),
                *_blast(contract, workspace),
                *_loose_ends(contract, queue),
                *_open_tests(contract, workspace),
                *_without_effect(contract),
                *_without_price(contract, facts),
                *_absent(contract, workspace),
                *facts.kept,
                *facts.unwritten,
                *_template(contract, workspace),
            )
        ),
        unanswered=tuple(located(contract, line) for line in (*_unanswered(contract, queue, facts), *facts.unrunnable)),
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


def _unanswered(contract: Contract, queue: Queue, facts: Facts) -> Iterator[str]:
    state = contract.state
    if contract.goal == starter.GOAL:
        yield "goal: it is still a question; say in one sentence what shall be true at the end"
    if missing := no_upstream(contract):
        yield missing
    for at, check in enumerate(contract.progress.checks):
        if check.run == starter.NO_CHECK and not check.optional:
            said = f"the check `false` never passes; name a command that proves a task done, {A_CHECK}"
            yield f"progress.checks[{at}].run: {said}"
    if facts.faults and (queue.total or not queue.readable):
        yield from facts.faults
    elif not queue.readable:
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
            f"progress.checks: the check costs more than the work ({check:.0f} s a task against {act:.0f} s): "
            "give tasks narrower checks, and keep the whole suite for termination.final"
        )
    if facts.unstable:
        said = f"the check is unstable ({facts.unstable} verdicts did not repeat)"
        yield f"progress.checks: {said}: until it is mended it proves nothing"
    if facts.oscillations:
        yield (
            f"progress.checks: the history oscillates (an earlier tree came back {facts.oscillations} times): the "
            "checks pull two ways, which no checkpoint cures; fix the evaluator first"
        )
    if facts.ungated:
        yield (
            "approvals.allow: actions that can be neither keyed nor asked about would go ahead unasked: "
            f"{', '.join(facts.ungated)}; narrow it, or name them in approvals.ask"
        )


def _blast(contract: Contract, workspace: Path) -> Iterator[str]:
    if not {Dimension.FILES_TOUCHED, Dimension.LINES_CHANGED, Dimension.BYTES_WRITTEN} & set(contract.budget.ceilings):
        yield "budget: no ceiling bounds how much may change: limit files_touched, lines_changed or bytes_written"
    ignored = ground.ignored(workspace)
    if ignored.files >= MANY_FILES or ignored.size >= LARGE_SIZE:
        named = ", ".join(ignored.paths[:4]) + (", …" if len(ignored.paths) > 4 else "")
        yield (
            f"state.checkpoint.include: what git ignores is large (at least {ignored.files} files, "
            f"{format_size(ignored.size)}: {named}) and in no checkpoint but for small files: what a worker does there "
            "cannot be undone; name what is to be kept"
        )


def _loose_ends(contract: Contract, queue: Queue) -> Iterator[str]:
    if contract.sandbox.kind is SandboxKind.WEAK:
        yield "sandbox.kind: the sandbox is weak: files are guarded, processes and network are not"
    if contract.sandbox.kind is SandboxKind.NONE:
        yield "sandbox.kind: there is no sandbox: the worker can do what you can, and answer its own requests"
    if not _required(contract) and queue.checked < queue.total:
        lacking = f"{queue.total - queue.checked} of {queue.total} tasks have no check that decides"
        yield f"progress.checks: {lacking}: they end in review, never done"
    if not {Dimension.WALL_CLOCK, Dimension.ELAPSED, Dimension.ITERATIONS} & set(contract.budget.ceilings):
        yield "budget: no ceiling on time or iterations: a worker that reports nothing is held by estimates alone"
    if not contract.progress.plateau.windows:
        yield "progress.plateau: every plateau rule is off: only a ceiling ends a session that does not advance"
    if not contract.progress.plateau.loops:
        yield "progress.plateau: no rule inside an iteration is on: only a ceiling ends a worker that repeats one call"
    if Dimension.COST in contract.budget.ceilings and contract.worker.model is None:
        yield "worker.model: cost has a ceiling and no model is named: without a price the session parks as `unpriced`"


_VERBS = ("npm", "pnpm", "yarn", "bun", "deno", "go", "cargo", "make")
"""Programs whose words are no paths of tests."""


def _open_tests(contract: Contract, workspace: Path) -> Iterator[str]:
    """Tests that the worker may rewrite: no path covers them, and no check names them."""
    state, runs = contract.state, [run for _, _, run in _runs(contract)]
    named = (word.partition("::")[0] for run in runs if run[0] not in _VERBS for word in run)
    covered = (*state.protect, *state.entrust, *state.hide, *named)
    if tests := testfiles.uncovered(testfiles.found(workspace), covered):
        areas = ", ".join(testfiles.areas(tests)[:_NAMED])
        yield (
            f"state.protect: the worker may rewrite what tests expect: {_some(tests)}, which no path covers; "
            f"add them, as in state.protect: [{areas}]"
        )
    elif not state.protect:
        yield "state.protect: nothing is protected; name what the checks rest on (tests, fixtures), or it may be bent"
    inside = testfiles.in_sources(workspace) if any("cargo" in run for run in runs) else ()
    if inside := testfiles.uncovered(inside, covered):
        yield (
            f"state.protect: tests in {_some(inside)} stand beside the code that is the work, so no path can keep "
            "them: have checks rest on tests of their own below tests/, and protect that"
        )


def _some(paths: Sequence[str]) -> str:
    """The first of some paths, and how many more there are."""
    more = len(paths) - _NAMED
    return ", ".join(paths[:_NAMED]) + (f" and {more} more" if more > 0 else "")


TOOLS = ("shell", "read", "write", "search", "fetch", "host")
"""Names of tools that every agent's own are mapped to; others are an agent's servers'."""


def _without_effect(contract: Contract) -> Iterator[str]:
    """What is set and changes nothing, each with its key."""
    approvals, budget = contract.approvals, contract.budget
    for name, above in (("allow", (*approvals.ask, *approvals.deny)), ("ask", approvals.deny), ("deny", ())):
        for at, pattern in enumerate(getattr(approvals, name)):
            tool = pattern.partition("(")[0]
            if pattern in above:
                yield f"approvals.{name}[{at}]: {pattern} says nothing here: the same stands where it weighs more"
            if not set("*?") & set(tool) and tool not in (*TOOLS, "edit") and (near := nearest(tool, TOOLS, 0.75)):
                yield f"approvals.{name}[{at}]: no agent has a tool {tool}; nearest: {near}"
    if contract.sandbox.kind is SandboxKind.NONE and contract.sandbox.hosts:
        yield "sandbox.hosts: without a sandbox every host can be reached, so naming some says nothing"
    degrades = any(ceiling.on_exhaustion is Exhaustion.DEGRADE for ceiling in budget.ceilings.values())
    if contract.worker.cheaper and not degrades and AtSoft.CHEAPER_MODEL not in budget.at_soft:
        yield "worker.cheaper: is never used: no ceiling says degrade, and budget.at_soft no cheaper_model"


def _template(contract: Contract, workspace: Path) -> Iterator[str]:
    plan = testfiles.text(workspace / contract.state.plan)
    if starter.without_template(plan) != plan:
        yield f"state.plan: {contract.state.plan} still has what init wrote, which no brief says; write what is planned"


def _without_price(contract: Contract, facts: Facts) -> Iterator[str]:
    for model, other in facts.unpriced:
        key = "worker.model" if model == contract.worker.model else "worker.cheaper.model"
        near = f"; nearest: {other}" if other else ""
        yield (
            f"{key}: cost has a ceiling and no price is known of {model}{near}: its calls will be refused, and the "
            "session parks as `unpriced`; mend the name, or give its price in gateway.prices (0 is free)"
        )


def _absent(contract: Contract, workspace: Path) -> Iterator[str]:
    """What is named and not there, each with its key."""
    state = contract.state
    for name, paths in (("protect", state.protect), ("hide", state.hide)):
        for at, path in enumerate(paths):
            if not os.path.lexists(workspace / path):
                yield f"state.{name}[{at}]: {path} is not there, so nothing of it is guarded"
    for at, path in enumerate(state.protect):
        place = os.path.relpath(os.path.realpath(workspace / path), os.path.realpath(workspace))
        held = any(f"{place}/".startswith(f"{other}/") for other in state.protect)
        if (workspace / path).is_symlink() and not held:
            yield f"state.protect[{at}]: {path} is a link to {place}, which is not protected: only the link is"
    for key, program in _programs(contract):
        if not ((workspace / program).exists() if "/" in program else shutil.which(program)):
            yield f"{key}: {program} is not {'there' if '/' in program else 'on PATH'}"
    for key, script in _scripts(contract):
        if not (workspace / script).exists():
            yield f"{key}: {script} is not there, so it cannot run"
    for name, upstream in contract.gateway.upstream.items():
        kind, _, variable = (upstream.key or "").partition(":")
        if kind == "env" and variable not in os.environ:
            yield f"gateway.upstream.{name}.key: {variable} is not set in your environment"


def _programs(contract: Contract) -> Iterator[tuple[str, str]]:
    """Programs that are named, with their keys; those of checks that decide are tried where they run."""
    for at, tool in enumerate(contract.state.environment.tools):
        yield f"state.environment.tools[{at}]", tool
    for program in (contract.worker.command or ())[:1]:
        yield "worker.command", program
    for key, optional, run in _runs(contract):
        if optional or "/" in run[0]:
            yield key, run[0]


def _scripts(contract: Contract) -> Iterator[tuple[str, str]]:
    """Scripts that the worker's command and the checks hand to an interpreter, with their keys."""
    for word in (contract.worker.command or ())[1:]:
        if word.endswith(_SCRIPTS):
            yield "worker.command", word
    for key, _, run in _runs(contract):
        if _INTERPRETER.match(run[0]) and run[1:] and run[1].endswith(_SCRIPTS):
            yield key, run[1]


def _runs(contract: Contract) -> Iterator[tuple[str, bool, tuple[str, ...]]]:
    """What the checks start: the key of each, whether the check is optional, the words."""
    checks = [(f"progress.checks[{at}]", check) for at, check in enumerate(contract.progress.checks)]
    alone = (("progress.smoke", contract.progress.smoke), ("termination.final", contract.termination.final))
    for key, check in (*checks, *alone):
        if check and check.run:
            yield f"{key}.run", check.optional, check.run
        if check and check.page:
            yield f"{key}.page.run", check.optional, check.page.run


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
