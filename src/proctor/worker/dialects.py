"""Which dialect a contract's worker speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.worker import find
from proctor.worker.dialect import Dialect

if TYPE_CHECKING:
    from proctor.contract.model import Worker


def choose(worker: Worker, asked: bool = True) -> Dialect:
    """A dialect for one iteration. UsageError, one line, where the program of a known agent is not there.

    `asked` is whether there is anything that the agent would have to ask. Each dialect brings its own libraries, so
    that only the one that is spoken is loaded.
    """
    command = tuple(worker.command or ())
    if worker.agent or worker.kind in find.KNOWN:
        command = find.locate(worker.kind, worker.agent or "", command)
    match worker.kind:
        case "claude":
            from proctor.worker.claude import Claude

            return Claude(command)
        case "codex" if asked:
            from proctor.worker.codex import Codex

            return Codex(command)
        case "codex":
            from proctor.worker.codex_exec import CodexExec

            return CodexExec(command)
        case "acp":
            from proctor.worker.acp import Acp

            return Acp(worker.agent or "", command)
    if worker.agent:
        from proctor.worker.presets import Preset

        return Preset(worker.agent, command)
    from proctor.worker.command import Command

    return Command(command, worker.brief, worker.terminal)
