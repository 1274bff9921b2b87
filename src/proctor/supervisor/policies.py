"""The contract's walls as sandbox policies: one for workers, one for checks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from proctor.budget.admission import CALLS
from proctor.contract.model import Contract
from proctor.errors import ProctorError, UsageError
from proctor.journal import events as ev
from proctor.sandbox import agents, host
from proctor.sandbox.policy import DOOR, GATEWAY, Limits, Policy
from proctor.supervisor.terms import Terms
from proctor.text import safe_line
from proctor.words import Api, Dimension
from proctor.workspace import files

if TYPE_CHECKING:  # `proctor sandbox` needs none, and a server takes half of its time to load
    from proctor.doors.gateway.port import Upstream

TOKEN = "placeholder"  # noqa: S105
"""Stands where a key would, and is none."""


def base(workspace: Path, contract: Contract) -> Policy:
    """What every worker of this contract may see and do, whatever the workspace holds; `proctor sandbox` too."""
    state = contract.state
    limits = contract.sandbox.limits
    checks = contract.progress.checks
    pages = [check.page for check in checks if check.page]
    commands = (contract.worker.command, *(c.run for c in checks), *(page.run for page in pages))
    browsers = (page.browser for page in pages if page.browser)
    granted = {name: os.environ[name] for name in state.environment.variables if name in os.environ}
    return Policy(
        workspace=workspace,
        protect=Terms(contract, "").protected(workspace),
        hide=state.hide,
        programs=tuple(dict.fromkeys((*(command[0] for command in commands if command), *browsers))),
        unix_sockets=contract.sandbox.unix_sockets,
        environment={**agents.ENVIRONMENT, **_blanked(contract), **granted},
        limits=Limits(limits.memory, limits.processes, limits.file_size, limits.open_files, limits.scratch),
    )


def in_session(policy: Policy, door: Path, task: ev.TaskId, model: str | None) -> Policy:
    """The policy with what only a worker of a session gets: its door, the gateway, and what tells it of them."""
    told = {
        "PROCTOR_TASK": str(task),
        "PROCTOR_BRIEF": f"{DOOR}/brief.md",
        "PROCTOR_ANSWERS": f"{DOOR}/answers",
        "ANTHROPIC_BASE_URL": f"http://{GATEWAY}",
        "OPENAI_BASE_URL": f"http://{GATEWAY}/v1",
        "ANTHROPIC_API_KEY": TOKEN,
        "OPENAI_API_KEY": TOKEN,
    }
    if model:
        told["PROCTOR_MODEL"] = model
    return replace(policy, environment={**policy.environment, **told}, door=door, listen=True)


def for_check(workspace: Path, contract: Contract) -> Policy:
    """The walls of a check: no door, no variables of the operator."""
    return replace(base(workspace, contract), protect=(), environment=_blanked(contract))


def _blanked(contract: Contract) -> dict[str, str]:
    """Variables with keys, emptied: without walls a command has the operator's own, and the key is the gateway's."""
    if contract.sandbox.kind != "none":
        return {}
    keys = (given.key or "" for given in contract.gateway.upstream.values())
    return {key.removeprefix("env:"): "" for key in keys if key.startswith("env:")}


FAMILIES = {"anthropic": "anthropic", "openai": "openai", "gemini": "gemini", "google": "gemini"}
"""Names of upstreams that say which language they speak."""
APIS = {"anthropic": Api.MESSAGES, "openai": Api.CHAT, "gemini": Api.GEMINI}
"""Of each family what all that speak it understand."""


def upstreams(workspace: Path, contract: Contract) -> tuple[Upstream, ...]:
    """Where the gateway passes model calls to, with their keys. May block; UsageError where a key is not there."""
    from proctor.doors.gateway.port import Upstream

    return tuple(
        Upstream(
            name,
            given.base_url,
            _key(given.key, workspace, contract) if given.key else None,
            speaks=_families(name, given.speaks),
            auth=given.auth or "",
            query=given.query,
            headers=given.headers,
            subscription=given.billing == "subscription",
            proxy=_proxy(name, given.base_url),
        )
        for name, given in contract.gateway.upstream.items()
    )


def _key(where: str, workspace: Path, contract: Contract) -> str:
    """UsageError too if the key is in a file that a worker can read."""
    from proctor.doors.gateway.keys import read_key

    if where.startswith("file:"):
        path = (workspace / Path(where.removeprefix("file:")).expanduser()).resolve()
        hidden = [workspace.resolve() / name for name in contract.state.hide]
        seen = [workspace.resolve(), *map(Path, host.SYSTEM)]
        if any(map(path.is_relative_to, seen)) and not any(map(path.is_relative_to, hidden)):
            raise UsageError(
                f"gateway.upstream: {where}: a worker can read it there: keep it in your home, or name it in state.hide"
            )
    return read_key(where, os.environ, workspace)


def _proxy(name: str, url: str) -> str:
    """The operator's proxy on the way to an upstream, by the usual variables; none for this machine itself."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    host, proxies = parts.hostname or "", getproxies()
    proxy = proxies.get(parts.scheme, "")
    if not proxy or _is_here(host) or proxy_bypass(parts.netloc.rpartition("@")[2], proxies):
        return ""
    scheme, found, _ = proxy.partition("://")
    if found and scheme not in ("http", "https"):
        raise UsageError(
            f"gateway.upstream.{name}: {parts.scheme.upper()}_PROXY names a {safe_line(scheme, 20)} proxy, and only "
            f"HTTP proxies can be used: name one, or add {safe_line(host, 100)} to NO_PROXY"
        )
    return proxy if found else f"http://{proxy}"


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _families(name: str, given: Iterable[str]) -> frozenset[str]:
    return frozenset(given or filter(None, [FAMILIES.get(name.lower())]))


def apis(contract: Contract) -> tuple[Api, ...]:
    """What a model can be asked through; none where any will do."""
    spoken = [_families(name, given.speaks) for name, given in contract.gateway.upstream.items()]
    return tuple(APIS[family] for family in sorted(frozenset().union(*spoken))) if all(spoken) else ()


def asks(contract: Contract) -> bool:
    """Whether there is anything that a worker would have to ask."""
    approvals = contract.approvals
    return bool(approvals.ask or approvals.deny) or "*(*)" not in approvals.allow


INSTRUCTIONS = ("CLAUDE.md", "AGENTS.md")
"""The project's own instructions to agents: the first that is there is handed to one that may not read settings."""


def instructions(workspace: Path) -> str:
    """What the project tells agents; nothing where it tells them nothing that can be read."""
    for name in INSTRUCTIONS:
        with contextlib.suppress(ProctorError):
            if text := files.read_optional(workspace, name):
                return text
    return ""


def is_agent(contract: Contract) -> bool:
    """Whether the worker is a program that is known, all of whose model calls come through the gateway."""
    return contract.worker.kind != "command" or contract.worker.agent is not None


def is_estimated(contract: Contract) -> bool:
    """Whether what a worker is told and prints is counted as tokens, where it asks no model through the gateway: of a
    command that names its model, or where a ceiling would not bind else."""
    capped = any(one in contract.budget.ceilings for one in CALLS if one is not Dimension.TOOL_CALLS)
    return not is_agent(contract) and (capped or contract.worker.model is not None)


def has_host_door(contract: Contract) -> bool:
    """Whether a worker is told of the way to hosts: where the contract names some, or says when to ask for one."""
    patterns = (*contract.approvals.allow, *contract.approvals.ask)
    return bool(contract.sandbox.hosts) or any(pattern.startswith("host(") for pattern in patterns)
