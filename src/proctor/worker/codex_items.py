"""What codex does in a thread, in the spelling of its app-server; `codex exec` says the same in another."""

from __future__ import annotations

import re
import shlex
from typing import Any

import msgspec

from proctor.worker import tools
from proctor.worker.base import MAX_FIGURE, Result, Tool, Usage

SHELL = re.compile(r"(/(usr/)?bin/)?(sh|bash|zsh|dash)")
"""The system's own: a model may name another program to be its shell."""
MOST_READ = 64 * 1024


class Change(msgspec.Struct):
    """What a patch does to one file."""

    path: str
    diff: str = ""
    kind: Any = None

    def places(self) -> list[str]:
        """Its path, and the one it is moved to."""
        moved = self.kind.get("move_path") if isinstance(self.kind, dict) else None
        return [self.path, *([moved] if isinstance(moved, str) else [])]


class Item(msgspec.Struct, rename="camel"):
    type: str
    id: str = ""
    status: str | None = None
    text: str | None = None
    message: str | None = None
    command: str | None = None
    cwd: str | None = None
    aggregated_output: str | None = None
    exit_code: int | None = None
    changes: list[Change] = []
    server: str | None = None
    tool: str | None = None
    arguments: Any = None
    prompt: str | None = None
    query: str | None = None
    path: str | None = None

    def call(self) -> Tool | None:
        """The tool call that it is, if it is one."""
        match self.type.replace("_", "").lower():
            case "commandexecution":
                return Tool("shell", command_input(self.command, self.cwd), self.id)
            case "filechange":
                return Tool("write", patch_input(self.changes), self.id)
            case "mcptoolcall" | "dynamictoolcall":
                given = self.arguments if isinstance(self.arguments, dict) else {}
                name = ".".join(filter(None, (self.server, self.tool)))
                return Tool(tools.canonical(name, {}), tools.canonical_input(given), self.id)
            case "collabagenttoolcall" | "collabtoolcall":
                return Tool("agent", tools.canonical_input({"prompt": self.prompt or ""}), self.id)
            case "websearch":
                return Tool("fetch", {"query": self.query or ""}, self.id)
            case "imageview":
                return Tool("read", {"path": self.path or ""}, self.id)
        return None

    def result(self) -> Result:
        ok = self.status == "completed" and not self.exit_code
        return tools.result(self.id, ok, self.aggregated_output or "")


class Tokens(msgspec.Struct, rename="camel"):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0

    def usage(self, model: str | None) -> Usage:
        """Codex counts as input what was cached too; here it is not."""
        fresh = self.input_tokens - self.cached_input_tokens - self.cache_write_input_tokens
        figures = fresh, self.output_tokens, self.cached_input_tokens, self.cache_write_input_tokens
        return Usage(model, *(min(max(figure, 0), MAX_FIGURE) for figure in figures))


class Failure(msgspec.Struct, rename="camel"):
    message: str
    additional_details: str | None = None

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.message, self.additional_details)))


def command_input(command: str | None, cwd: str | None) -> dict[str, Any]:
    return {"command": unwrapped(command or ""), **({"cwd": cwd} if cwd else {})}


def patch_input(changes: list[Change]) -> dict[str, Any]:
    """Of one file its path; of several all of them, so that none is judged by the first."""
    paths = list(dict.fromkeys(place for change in changes for place in change.places()))
    named: dict[str, Any] = {"path": paths[0]} if len(paths) == 1 else {"paths": paths}
    return named | {"diff": "\n".join(f"{change.path}\n{change.diff[: tools.MOST_TEXT]}" for change in changes)}


def unwrapped(command: str) -> str:
    """What a shell is given to run, out of `/bin/bash -lc '…'`; anything else, or what is long to read, as it is."""
    try:
        words = shlex.split(command) if len(command) < MOST_READ else []
    except ValueError:
        return command
    if len(words) == 3 and SHELL.fullmatch(words[0]) and words[1] in ("-c", "-lc"):
        return words[2]
    return command


def respelled(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of `codex exec` as the app-server names them."""
    return {re.sub("_([a-z])", lambda letter: letter[1].upper(), name): value for name, value in fields.items()}
