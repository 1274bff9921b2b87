"""How the agents that are known are started: quiet, with the gateway for a model, asking before they act."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from proctor.errors import UsageError
from proctor.words import Api
from proctor.worker.dialect import Launch, Setting, Stdin

PROVIDER = "proctor"
OPENCODE = {
    Api.MESSAGES: "anthropic",
    Api.RESPONSES: "openai",
    Api.CHAT: "openai-compatible",
    Api.GEMINI: "google",
}
"""What opencode asks a model with, in the order of preference."""
ASKING = {
    "*": "ask",
    **dict.fromkeys(("todowrite", "todoread", "external_directory", "doom_loop"), "allow"),
    **dict.fromkeys(("question", "task"), "deny"),
}
"""Its calls are put to the rules, once each, with their paths. What its sub-agents ask it passes on to nobody, so that
they would wait for ever: it has none."""
LIMIT = {"context": 200_000, "output": 16_384}
"""Tokens: of a model that opencode cannot look up."""
FOREVER = 86_400
"""Seconds that an agent waits for an answer: the gateway holds calls, and waits for the provider itself."""
GEMINI_ASKS = """\
[[rule]]
toolName = [
  "run_shell_command", "read_file", "list_directory", "glob", "grep_search", "google_web_search", "web_fetch",
]
argsPattern = "."
decision = "ask_user"
priority = 999
[[rule]]
toolName = ["invoke_agent", "codebase_investigator"]
decision = "deny"
priority = 999
"""
"""Without it reads are never put to the rules, and without the pattern no command that it takes to be harmless. What
its sub-agents ask it passes on to nobody: it has none."""
QWEN_ASKS = {"ask": ("Read", "Edit", "Bash", "WebFetch"), "deny": ("Agent",)}
"""Reads, and commands that it takes to be harmless, it would not put to the rules by itself. Its sub-agents write
without a question: it has none."""
AT_HOME = (
    *("/bin/sh", "-c"),
    'cd "$HOME" && QWEN_CODE_SYSTEM_SETTINGS_PATH="$HOME/.qwen/settings.json" exec "$0" "$@"',
)
"""It works in the folder of its session; where it is started it reads `.env`, by which a workspace would set whatever
it likes: settings with servers, hooks and permits among it. Its own settings come last, as those of the system."""
WITH_PATIENCE = ("/bin/sh", "-c", 'GEMINI_EXP="$HOME/.gemini/patience.json" exec "$0" "$@"')
"""Gemini gives up after a minute without a header; what changes that is a flag in a file, named by its whole path."""


def launch(agent: str, command: tuple[str, ...], setting: Setting) -> Launch:
    """Start a known agent, by `command` if it is given, or whatever `command` is. UsageError where neither is known."""
    if agent:
        start = KNOWN.get(agent)
        if start is None:
            raise UsageError(f"worker.agent: {agent[:80]!r} is not known; known are {', '.join(sorted(KNOWN))}")
        return start(command or (agent,), setting)
    if not command:
        raise UsageError("worker.kind acp needs worker.agent or worker.command")
    environment = {
        "ANTHROPIC_BASE_URL": setting.base,
        "ANTHROPIC_API_KEY": setting.token,
        "OPENAI_BASE_URL": f"{setting.base}/v1",
        "OPENAI_API_KEY": setting.token,
        "GOOGLE_GEMINI_BASE_URL": setting.base,
        "GEMINI_API_KEY": setting.token,
    }
    return Launch(command, environment, home=True, stdin=Stdin.OPEN, programs=command[:1])


def _model(setting: Setting, agent: str) -> str:
    if not setting.model:
        raise UsageError(f"worker.model: {agent} has to be told one")
    return setting.model


def _opencode(command: tuple[str, ...], setting: Setting) -> Launch:
    model = _model(setting, "opencode")
    api = next((api for api in OPENCODE if api in setting.apis), Api.MESSAGES)
    version = "v1beta" if api is Api.GEMINI else "v1"
    patience = {"timeout": False, "headerTimeout": False, "chunkTimeout": FOREVER * 1000}
    config: dict[str, Any] = {
        "provider": {
            PROVIDER: {
                "npm": f"@ai-sdk/{OPENCODE[api]}",
                "name": PROVIDER,
                "options": {"baseURL": f"{setting.base}/{version}", "apiKey": setting.token, **patience},
                "models": {model: {"name": model, "tool_call": True, "limit": LIMIT}},
            }
        },
        "enabled_providers": [PROVIDER],
        "model": f"{PROVIDER}/{model}",
        "small_model": f"{PROVIDER}/{model}",
        "permission": ASKING,
        "agent": {"title": {"disable": True}},
        "autoupdate": False,
        "share": "disabled",
    }
    quiet = ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE", "PROJECT_CONFIG")
    environment = {f"OPENCODE_DISABLE_{name}": "1" for name in quiet}
    environment["OPENCODE_CONFIG_CONTENT"] = json.dumps(config)
    # Without the project's configuration its instructions are not read either.
    files = {".config/opencode/AGENTS.md": setting.instructions} if setting.instructions else {}
    return Launch((*command, "acp"), environment, files, home=True, stdin=Stdin.OPEN, programs=command[:1])


def _gemini(command: tuple[str, ...], setting: Setting) -> Launch:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"maxAttempts": 1, "enableAutoUpdate": False},
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
        "advanced": {"ignoreLocalEnv": True},
    }
    patience = {"flags": [{"flagId": 45773134, "intValue": str(FOREVER)}]}
    return Launch(
        (*WITH_PATIENCE, *command, "--acp", "-m", _model(setting, "gemini"), "--skip-trust"),
        environment={
            "GOOGLE_GEMINI_BASE_URL": setting.base,
            "GEMINI_API_KEY": setting.token,
            "GEMINI_CLI_NO_RELAUNCH": "true",
        },
        files={
            ".gemini/settings.json": json.dumps(settings),
            ".gemini/patience.json": json.dumps(patience),
            ".gemini/policies/proctor.toml": GEMINI_ASKS,
        },
        home=True,
        stdin=Stdin.OPEN,
        programs=command[:1],
    )


def _qwen(command: tuple[str, ...], setting: Setting) -> Launch:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"enableAutoUpdate": False},
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
        "model": {"generationConfig": {"maxRetries": 0}},
        "permissions": QWEN_ASKS,
        "disableAllHooks": True,
        "mcp": {"allowed": ["none"]},
    }
    return Launch(
        (*AT_HOME, *command, "--acp"),
        environment={
            "OPENAI_BASE_URL": f"{setting.base}/v1",
            "OPENAI_API_KEY": setting.token,
            "OPENAI_MODEL": _model(setting, "qwen"),
            "QWEN_CODE_API_TIMEOUT_MS": str(FOREVER * 1000),
        },
        files={".qwen/settings.json": json.dumps(settings)},
        home=True,
        stdin=Stdin.OPEN,
        programs=command[:1],
    )


Start = Callable[[tuple[str, ...], Setting], Launch]
KNOWN: dict[str, Start] = {"opencode": _opencode, "gemini": _gemini, "qwen": _qwen}
