"""Agents in a workspace that is not trusted: files there that would have them run something, and their own habits.

A workspace may bring settings, hooks, plugins, and programs to start beside an agent. An agent in the sandbox takes
its model's word and no question is put to anybody, so that they would run before the model has said a thing. These
files are shown empty. Instructions stay: CLAUDE.md, AGENTS.md, GEMINI.md, rules. Nothing is said here of the
settings in HOME, which is empty inside, and of the program's own (`.env`, `.vscode/tasks.json`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from types import MappingProxyType

# fmt: off
SETTINGS = (
    ".mcp.json", ".lsp.json",
    *(f".claude/{name}" for name in (
        "settings.json", "settings.local.json",
        "agents", "commands", "hooks", "plugins", "skills", "workflows",  # with hooks, permits and shell in their heads
    )),
    ".codex", ".agents/plugins",
    "opencode.json", "opencode.jsonc",
    *(f".opencode/{name}" for name in (  # the folder itself it writes to
        "opencode.json", "opencode.jsonc", "package.json", "node_modules",
        "plugin", "plugins", "tool", "tools", "agent", "agents", "command", "commands", "mode", "modes",
        "skill", "skills",
    )),
    ".gemini", ".qwen",
    ".aider.conf.yml",
    *(f".cursor/{name}" for name in ("cli.json", "hooks.json", "hooks", "mcp.json", "plugins", "environment.json")),
    "crush.json", ".crush.json", ".crush",
    ".amp", ".factory", ".github/hooks", ".github/mcp.json", ".vscode/mcp.json",
)
"""Relative to any folder: agents read those of the folder they start in, of those above it, and some of those below."""

ENVIRONMENT: Mapping[str, str] = MappingProxyType({
    "IS_SANDBOX": "1",  # Claude Code: root may leave the asking to what is around it
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_SHARE": "1",
    "GEMINI_SANDBOX": "false",
    "GEMINI_TELEMETRY_ENABLED": "false",
    "AIDER_CHECK_UPDATE": "false",
    "AIDER_ANALYTICS": "false",
    "NO_UPDATE_NOTIFIER": "1",
    "DO_NOT_TRACK": "1",
})
"""The agents' own sandboxes, updates and reports off: none of them could work here. Codex takes these by flag alone."""
# fmt: on

FIRST = frozenset(path.partition("/")[0] for path in SETTINGS)
"""Names by which a folder tells that it may hold settings."""


def present(workspace: Path, folders: Iterable[str] = ()) -> tuple[str, ...]:
    """The settings that there are in the workspace and in these folders of it, relative to it, sorted, none in another.

    Where one is a link, or stands behind one, what it leads to in the workspace is named. Only while no worker runs
    is that what a mount will find.
    """
    top = os.path.realpath(workspace)
    found = {
        os.path.relpath(real, top)
        for folder in ("", *folders)
        for path in SETTINGS
        if os.path.exists(real := os.path.realpath(os.path.join(top, folder, path))) and real.startswith(f"{top}/")
    }
    return tuple(sorted(path for path in found if found.isdisjoint(map(str, PurePath(path).parents))))
