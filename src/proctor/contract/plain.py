"""The contract in plain words: the four questions, and what it answers. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from proctor.contract.budget import Ceiling
from proctor.contract.check import Check
from proctor.contract.model import Contract
from proctor.contract.queue import Queue
from proctor.contract.values import AgentSettings, Commits, Git, OnFailed, OnTampering, SandboxKind
from proctor.units import format_amount, format_duration, format_size
from proctor.words import AtSoft, Dimension, Exhaustion, LoopRule, Response, Rule

_SOFT = {
    AtSoft.NARROW: "the next brief asks for less",
    AtSoft.SKIP_OPTIONAL_CHECKS: "optional checks are skipped",
    AtSoft.NO_NEW_TASKS: "no new task is begun",
    AtSoft.CHEAPER_MODEL: "the cheaper model works",
}
_FAILED = {
    OnFailed.KEEP: "After a failed verdict the tree stays; after a second one no better, or tampering, it goes back.",
    OnFailed.ROLLBACK: "After a failed verdict the tree goes back at once.",
    OnFailed.NEVER: "After a failed verdict the tree stays, always.",
}
_TAMPERED = {
    OnTampering.ESCALATE: "you are asked",
    OnTampering.PARK: "the session is parked",
    OnTampering.STOP: "the session is stopped",
    OnTampering.RECORD: "recorded",
}
_RULES = {
    Rule.NO_CHANGE: "no verdict changes",
    Rule.SHRINKING: "the changes shrink",
    Rule.SAME_FAILURE: "the failure stays the same",
    Rule.REVISIT: "an earlier tree comes back",
    Rule.NO_OP: "nothing is changed",
    Rule.STALLED: "no task is verified",
}
_LOOPS = {
    LoopRule.SAME_CALL: "the same call with the same result",
    LoopRule.SAME_ERROR: "the same error",
    LoopRule.CYCLE: "the same two to four calls in a row",
    LoopRule.SAME_DENIAL: "the same denied more than",
}
_RESPONSES = {
    Response.NARROW: "ask for less",
    Response.BLOCK: "set the task aside",
    Response.ESCALATE: "ask you",
    Response.PARK: "park",
    Response.STOP: "stop",
}


def survives(contract: Contract, repository: str | None = None) -> Iterator[str]:
    """State: what a restart, a context reset, a new sandbox leave.

    `repository` is the folder whose git repository the workspace belongs to, "" for none, None where nobody looked.
    """
    state = contract.state
    yield (
        f"Survives: the files of the workspace; the task list {state.tasks}, the plan {state.plan}, the log "
        f"{state.progress}, the rules {state.rules}; the journal and the checkpoints, in .proctor."
    )
    yield (
        "Ephemeral: the worker's context, its scratch home, caches, pipes, and all it started. A new worker knows "
        "what its brief says: plan, place in the list, end of the log, rules, one task, its spec, its check."
    )
    kept = state.checkpoint
    yield (
        f"A checkpoint holds every file up to {format_size(kept.max_file)} with its mode, links and attributes, and of "
        "what git ignores files up to 1M, so .env too: readable by you alone. Not ignored folders such as node_modules."
    )
    if kept.include:
        yield f"Kept although git ignores it: {', '.join(kept.include)}."
    if kept.exclude:
        yield f"In no checkpoint, and left alone by a rollback: {', '.join(kept.exclude)}."
    if kept.keep is not None:
        yield (
            f"After {format_duration(kept.keep)} go: workers' raw output, and checkpoints that nothing needs. Never: "
            "the start, the last good one, those with a name, the newest of each task, and those that undo goes to."
        )
    yield "Of an iteration that was cut off the files stay as they are, and are judged as they are."
    wanted = state.commits is Commits.SESSION_BRANCH
    walled = contract.sandbox.kind is SandboxKind.BWRAP
    if wanted or (state.commits is None and walled):
        where = "" if wanted or repository else ", where there is one"
        if repository == "" and not wanted:
            yield "There is no git repository here: verified tasks are kept as checkpoints, and become no commits."
        else:
            yield f"Each verified task becomes a commit on proctor/SESSION, a branch of your git repository{where}."
    if state.protect:
        held = "Read-only to the worker" if walled else "As they were for each verdict, but the worker can write them"
        yield f"{held}: {', '.join(state.protect)}."
    if state.entrust:
        yield f"For the worker to change, although checks rest on them: {', '.join(state.entrust)}."
    if state.hide:
        held = (
            "Hidden from the worker" if walled else f"NOT hidden (sandbox: {contract.sandbox.kind}), it can read them"
        )
        yield f"{held}: {', '.join(state.hide)}."
    if state.environment.variables:
        yield f"Of your environment the worker gets: {', '.join(state.environment.variables)}."


def walls(contract: Contract, repository: str | None = None) -> Iterator[str]:
    """What holds a worker under this contract's sandbox, and what does not. `repository` as in `survives`."""
    sandbox, limits = contract.sandbox, contract.sandbox.limits
    bounds = (
        f"Limits: {format_size(limits.memory)} of memory, {limits.processes:,} processes, "
        f"{format_size(limits.file_size)} a file, {limits.open_files:,} open files, "
        f"{format_size(limits.growth)} more in the workspace"
    )
    if sandbox.kind is SandboxKind.NONE:
        yield "none: nothing holds it. It can do, read and write what you can, your .git included."
        yield f"{bounds}."
        return
    sockets = "Unix sockets can be made" if sandbox.unix_sockets else "no Unix sockets"
    if sandbox.kind is SandboxKind.WEAK:
        yield (
            "weak: your files outside the workspace and TCP are out of its reach. Nothing inside is: no path is "
            "read-only or hidden, .git is your own; nor are UDP and other processes."
        )
        yield f"{bounds}; {sockets}."
        return
    yield (
        "bwrap: the system read-only, the workspace writable; no home, no keys, no network but the gateway. "
        f"{_git(sandbox.git, repository)}."
    )
    trusted = sandbox.agent_settings is AgentSettings.TRUST
    settings = "hooks, plugins and servers for agents in the workspace are " + ("TRUSTED" if trusted else "shown empty")
    yield f"{bounds}, {format_size(limits.scratch)} of scratch; {sockets}; {settings}."


def _git(git: Git, repository: str | None) -> str:
    if repository:
        return f"Its git is a repository of its own with the history of {repository}, which itself it cannot reach"
    if git is Git.ALWAYS:
        return "Its git is a repository of its own, empty where the workspace has none"
    return "It has no git, as there is no repository here" if repository == "" else "Its git is a repository of its own"


def ceilings(contract: Contract) -> tuple[str, ...]:
    """Budget: each ceiling, and what happens at its alert, its soft and its hard level."""
    return tuple(_ceiling(contract, dimension, terms) for dimension, terms in contract.budget.ceilings.items())


def beyond_the_ceilings(contract: Contract) -> Iterator[str]:
    """Budget: what holds at all ceilings, and what has none."""
    if contract.budget.ceilings:
        soft = ", ".join(_SOFT[word] for word in contract.budget.at_soft) or "one more notice"
        yield f"Sparing, while any of them is at {contract.budget.soft} % or more: {soft}."
    yield (
        "At every ceiling the check, the checkpoint and the last log entry of the work at hand still run; "
        "what was verified stays."
    )
    free = [dimension.value for dimension in Dimension if dimension not in contract.budget.ceilings]
    if free:
        yield f"Counted and not limited: {', '.join(free)}."


def progress(contract: Contract, queue: Queue) -> Iterator[str]:
    """Progress: what proves advancement, and what is only motion."""
    yield (
        "A task is done when its check exits with 0 in a clean copy of the tree, with the frozen files as they were, "
        "and did not before the work; the pass comes again on a fresh copy, unless its `repeat` is 0. What the worker "
        "says is a claim."
    )
    if smoke := contract.progress.smoke:
        yield f"Before a worker starts: {_shown(smoke)}. While it fails, to mend that comes first."
    for check in contract.progress.checks:
        yield f"{'Reported only' if check.optional else 'For tasks that name no check'}: {_shown(check)}."
    if queue.checked:
        yield f"With a check of their own: {queue.checked} of {queue.total} tasks."
    share = contract.progress.regression
    during = f"after a pass for {share} % of an iteration's active time, and " if share else ""
    yield f"Checks of verified tasks run again {during}after the last task; one that fails opens its task again."
    if audit := contract.progress.audit:
        yield f"What the checks catch is measured in idle time, for {format_duration(audit)} of a session at most."
    yield _FAILED[contract.progress.on_failed]
    yield f"Tampering with what is frozen is undone, and {_TAMPERED[contract.progress.on_tampering]}."
    yield f"A change that looks made for the check is shown, and {_TAMPERED[contract.progress.on_suspicion]}."
    plateau = contract.progress.plateau
    if plateau.windows:
        watched = ", ".join(f"{_RULES[rule]} over {window} iterations" for rule, window in plateau.windows.items())
        answers = ", ".join(_RESPONSES[response] for response in plateau.on_plateau)
        yield (
            f"Only motion: {watched}. One of these alone is suspected, and the next brief says so; a plateau is two "
            f"together, one that holds on after that, and the last two at once. Then, in this order: {answers}."
        )
    drift = contract.progress.drift
    if drift.plan_rot:
        yield "A task that names what was there and is gone waits for you, or for a plan that names it no more."
    if times := drift.budget_runaway:
        yield (
            f"A task that has used {times / 2:g} times the median of the verified ones is narrowed, and at "
            f"{times} times the session parks."
        )
    if plateau.loops:
        circles = ", ".join(f"{_LOOPS[rule]} {times} times" for rule, times in plateau.loops.items())
        yield f"An iteration ends when its worker runs in circles: {circles}. Slow and changing polls are none."


def termination(contract: Contract) -> Iterator[str]:
    """Termination: who decides that it is over, and on what."""
    final = contract.termination.final
    after = f", and then {_shown(final)} passes on a clean checkout" if final else ""
    yield f"proctor, never the worker: it is over when every task holds a passed verdict{after}."
    yield "It ends before that at a ceiling, at a plateau, or when you stop it: each with its own exit code, never 0."
    expire = contract.approvals.expire
    until = f" for {format_duration(expire)} and is then denied" if expire else ""
    yield f"A request waits for you{until}; nothing moves meanwhile."


def _ceiling(contract: Contract, dimension: Dimension, terms: Ceiling) -> str:
    def amount(percent: int) -> str:
        return format_amount(dimension, terms.limit * percent // 100)

    budget = contract.budget
    shares = "".join(
        f", at most {format_amount(dimension, share)} {name}"
        for share, name in ((terms.per_task, "a task"), (terms.per_iteration, "an iteration"))
        if share is not None
    )
    return (
        f"{dimension}: {amount(100)}{shares}. A notice at {budget.alert} % ({amount(budget.alert)}), "
        f"sparing from {budget.soft} % ({amount(budget.soft)}); "
        f"at 100 % {_hard(contract, dimension, terms)}."
        f"{' Lines are counted when a worker has ended.' if dimension is Dimension.LINES_CHANGED else ''}"
    )


def _hard(contract: Contract, dimension: Dimension, terms: Ceiling) -> str:
    match terms.on_exhaustion:
        case Exhaustion.STOP:
            return "nothing more is admitted and the session is stopped"
        case Exhaustion.PARK:
            return "nothing more is admitted and the session is parked, to be resumed after an extension"
        case Exhaustion.ESCALATE:
            return "nothing more is admitted, the worker is ended and you are asked for an extension"
        case Exhaustion.DEGRADE:
            model = contract.worker.cheaper.model if contract.worker.cheaper else "the cheaper model"
            end = format_amount(dimension, terms.limit * (100 + terms.reserve) // 100)
            return f"only {model} goes on, up to {end}, and then the session is parked"


def _shown(check: Check) -> str:
    limit, told = format_duration(int(check.timeout * 1000)), "; ".join(check.fact.told)
    if check.repeat != 1:
        told += f"{'; ' if told else ''}{f'and again {check.repeat} times' if check.repeat else 'not repeated'}"
    if not check.run:
        return told
    shown = f"`{shlex.join(check.run)}` within {limit}"
    return f"{shown} ({told})" if told else shown
