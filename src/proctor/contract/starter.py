"""`proctor init`: a contract for a project that exists, and the files it names where they are missing.

Nothing that is there is ever written over. What is written loads, and holds only keys that run.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import TextIO

from proctor.contract import ground
from proctor.contract.document import Unreadable, read_bytes
from proctor.contract.load import load_state_only
from proctor.contract.problems import FILE
from proctor.contract.queue import peek
from proctor.errors import UsageError
from proctor.text import safe_line

GOAL = "Say in one sentence what shall be true at the end"
"""The goal of a fresh contract: a question, which `proctor check` does not take for an answer."""
NO_CHECK = ("false",)
"""The check of a fresh contract where no test command was found: it never passes."""

_PLAIN = re.compile(r"(?!true$|false$|null$|yes$|no$|on$|off$)-{0,2}[a-z_./][a-z0-9_./-]*(?<![.-])", re.IGNORECASE)

_CONTRACT = """\
# The contract of this workspace: what survives, what it may cost, what proves progress, who says it is over.
# `proctor check` reads it back in plain words.

goal: {goal}

worker:
{worker}
  idle: 15m              # no output, no file change, no CPU for so long: the iteration ends

state:
  # what the checks rest on: readable for the worker, not writable
  protect: {protect}
  hide: {hide}           # not even readable
{git}
budget:                  # every ceiling says what happens at it: stop, park, escalate
  wall_clock:    {{limit: 4h, on_exhaustion: park}}         # active time; waits for you do not count
  elapsed:       {{limit: 24h, on_exhaustion: park}}        # calendar time
  tokens:        {{limit: 2M, on_exhaustion: park}}
{cost}  iterations:    {{limit: 40, on_exhaustion: park}}
  files_touched: {{limit: 60, on_exhaustion: escalate}}
  lines_changed: {{limit: 4000, on_exhaustion: escalate}}
  bytes_written: {{limit: 200M, on_exhaustion: stop}}

progress:
  # {why}
  checks:                # for tasks that name no check of their own
    - {{run: {check}, timeout: 5m}}
  # what counts as no advancement (iterations; 0: off), and what follows; `proctor check` says it in words
  # plateau: {{no_change: 3, same_failure: 3, stalled: 6, on_plateau: [narrow, block, escalate, park]}}

# sandbox: {{kind: bwrap}} # the default: real walls; `weak` and `none` hold less, and `proctor check` says what

approvals:               # tool(glob); what no line covers is asked; the walls hold whatever is allowed
  allow: {allow}
  ask: ["shell(git push *)"]
  deny: ["shell(rm -rf /*)"]
{gateway}
notify: [bell]
"""

_PLAN = """\
# Plan

What is to be done, in which order, and why. The tasks themselves stand in `{tasks}`, one object each:

    {example}

A task is done when its check passes in a clean copy of the tree, and not before the work.
"""
_TEMPLATE = re.compile(
    re.escape(_PLAN).replace(re.escape("{tasks}"), r"[^`\n]+").replace(re.escape("{example}"), r"\{[^`]*?\}\}")
)
_EXAMPLE = """{{"id": 1, "task": "Port the refund endpoint", "spec": "specs/1.md",
     "check": {{"run": {run}}}}}"""
_PROGRESS = "# Progress\n\nWritten by proctor after every verdict; notes of the worker are kept.\n"
_RULES = "# Rules\n\nOne line each, and every line earned by a real failure.\n"
_SPECS = "# Specs\n\nOne file a task, named by its `spec`: what must hold, what must not change, how it is checked.\n"


def init(workspace: Path) -> list[str]:
    """Write what is missing and name it, in order. Raises UsageError where that cannot be done."""
    if not workspace.is_dir():
        raise UsageError(f"{workspace}: the workspace is not a folder")
    if os.path.lexists(workspace / FILE):
        try:
            read_bytes(workspace / FILE)
        except Unreadable as error:
            raise UsageError(f"{workspace / FILE}: {error}; move it away, and `proctor init` writes one") from None
    created = [FILE] if _write(workspace, FILE, _contract(workspace)) else []
    state = load_state_only(workspace)
    suite = ground.suite(workspace)
    run = (*(suite.run if suite and "pytest" in suite.run else ("pytest", "-q")), "tests/test_refund.py")
    files = {
        state.plan: _PLAN.format(tasks=state.tasks, example=_EXAMPLE.format(run=json.dumps(run))),
        state.tasks: "[]\n",
        state.progress: _PROGRESS,
        state.rules: _RULES,
    }
    if peek(workspace, state).total and not (workspace / state.tasks).exists():
        del files[state.tasks]  # the plan's open items are the task list; an empty one would hide them
    if not (workspace / "specs").exists():
        files["specs/README.md"] = _SPECS
    return created + [name for name, text in files.items() if _write(workspace, name, text)]


def without_template(plan: str) -> str:
    """A plan without what `init` wrote for one: an example is no plan."""
    return _TEMPLATE.sub("", plan, count=1)


def _write(workspace: Path, name: str, text: str) -> bool:
    """Create a file and say so; whatever stands there already stays, also a broken link."""
    path = workspace / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            _fill(file, text)
    except OSError as error:
        if isinstance(error, FileExistsError) and os.path.lexists(path):
            return False
        blocked = isinstance(error, FileExistsError | NotADirectoryError)
        why = "a file is in the way of its folder" if blocked else (error.strerror or str(error)).lower()
        raise UsageError(f"{path}: cannot be written: {why}") from None
    return True


def _fill(file: TextIO, text: str) -> None:
    """The whole text, on disk; half a file is taken away again, or it would never be written whole."""
    try:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    except OSError:
        os.unlink(file.name)
        raise


def _contract(workspace: Path) -> str:
    suite, agents = ground.suite(workspace), ground.agents()
    tools = ("read(*)", "search(*)", "write(*)") if agents else ("read(*)",)
    return _CONTRACT.format(
        goal=json.dumps(GOAL),
        worker=_worker(agents),
        cost="  cost:          {limit: $20, on_exhaustion: park}\n" if agents and agents[0].priced else "",
        gateway=_gateway(agents[0]) if agents else "",
        allow=_list((*tools, f"shell({shlex.join(suite.run)} *)") if agents and suite else tools),
        protect=_list(suite.protect if suite else ()),
        hide=_list(ground.secrets(workspace)),
        git=f"  # git: {safe_line(ground.git_state(workspace), 120)}; the first checkpoint holds the tree as it is\n"
        "  # in a git repository verified tasks become commits on proctor/SESSION; `commits: none` makes none\n"
        "  # of what git ignores, checkpoints keep only small files; for more, name patterns as in .gitignore:\n"
        "  # checkpoint: {include: [dist/], exclude: [data/]}\n",
        why=f"found: {safe_line(suite.why, 120)}{f'; {safe_line(suite.lacks, 120)}' if suite.lacks else ''}"
        if suite
        else "no test command was found; `false` never passes: replace it",
        check=_list(suite.run if suite else NO_CHECK),
    )


def _worker(agents: tuple[ground.Agent, ...]) -> str:
    if not agents:
        return (
            "  # no agent program was found on PATH; any program that reads the brief and edits files will do\n"
            "  kind: command\n"
            "  command: [python, tools/agent.py]\n"
            "  brief: stdin           # stdin | file (named by $PROCTOR_BRIEF) | argument"
        )
    agent, names = agents[0], ", ".join(agent.program for agent in agents)
    named = f"  agent: {agent.agent}\n" if agent.agent else ""
    return (
        f"  # found on PATH: {names}. It runs without network: models are reached through the gateway only\n"
        f"  kind: {agent.kind:<16} # claude | codex | acp | command\n"
        f"{named}  model: {agent.model}"
    )


def _gateway(agent: ground.Agent) -> str:
    return (
        "\ngateway:                 # where models are; the key stays out here\n"
        f"  upstream: {{{agent.upstream}: {{base_url: {json.dumps(agent.base_url)}, key: env:{agent.key}}}}}\n"
        "  # where a login pays, not a price per call: key: env:NAME of its token, and billing: subscription\n"
    )


def _list(words: tuple[str, ...]) -> str:
    """A YAML flow list, quoted where a word is not plainly a word."""
    return f"[{', '.join(w if _PLAIN.fullmatch(w) else json.dumps(w, ensure_ascii=False) for w in words)}]"
