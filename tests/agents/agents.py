"""The agents that are tried: how a contract names each, which program it is, what it can do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache

import pytest

REQUIRED = "PROCTOR_AGENTS_REQUIRED"
"""Set to 1 where every agent has to be there: a missing one fails instead of being skipped."""


@dataclass(frozen=True, slots=True)
class Agent:
    """`worker` is the contract's; `size` the tokens of a call before a ceiling, about what a first one of it really has
    unless that is little; `asks` whether it can put a question at all, `tools` whether it calls any."""

    name: str
    worker: str
    program: str
    install: str
    size: int
    asks: bool = True
    tools: bool = True


AGENTS = (
    Agent("claude", "{kind: claude, model: claude-sonnet-4-5}", "claude", "npm: @anthropic-ai/claude-code", 27_000),
    Agent("codex", "{kind: codex, model: gpt-5.5}", "codex", "npm: @openai/codex", 9_500),
    Agent("opencode", "{kind: acp, agent: opencode, model: claude-haiku-4-5}", "opencode", "npm: opencode-ai", 8_000),
    Agent("gemini", "{kind: acp, agent: gemini, model: gemini-2.5-flash}", "gemini", "npm: @google/gemini-cli", 12_000),
    Agent("qwen", "{kind: acp, agent: qwen, model: gpt-5-mini}", "qwen", "npm: @qwen-code/qwen-code", 19_000),
    Agent(
        "aider", "{kind: command, agent: aider, model: gpt-4o-mini}", "aider", "PyPI: aider-chat", 20_000, False, False
    ),
    Agent("mini", "{kind: command, agent: mini, model: gpt-5-mini}", "mini", "PyPI: mini-swe-agent", 7_000, False),
)
BY_NAME = {agent.name: agent for agent in AGENTS}
ASKING = tuple(agent for agent in AGENTS if agent.asks)


@cache
def missing(agent: Agent) -> str:
    """Why an agent cannot be tried here; empty where it can."""
    if shutil.which(agent.program):
        return ""
    return f"{agent.program} is not installed ({agent.install})"


def present(name: str) -> None:
    """Skip where an agent is not there; fail where it has to be."""
    if why := missing(BY_NAME[name]):
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(why)
        pytest.skip(why)


@cache
def version(agent: Agent) -> str:
    """What the program says of itself."""
    if missing(agent):
        return "missing"
    flags = ("--help",) if agent.name == "mini" else ("--version",)
    quiet = {**os.environ, "MSWEA_SILENT_STARTUP": "", "MSWEA_CONFIGURED": "true"}
    done = subprocess.run([agent.program, *flags], capture_output=True, text=True, timeout=60, env=quiet, check=False)
    found = re.search(r"\d+(\.\d+)+(-\w+)*", done.stdout + done.stderr)
    return found[0] if found else "unknown"
