"""Programs of kind `command` that are known: aider and mini-swe-agent, told their brief by an argument.

They ask nothing, so that their sandbox alone holds them, and say nothing of themselves but text.
"""

from __future__ import annotations

from proctor.errors import UsageError
from proctor.worker.command import Command, as_argument, plainly
from proctor.worker.dialect import Launch, Setting

AIDER = (
    *("--yes-always", "--no-stream", "--no-pretty", "--no-check-update", "--no-analytics", "--no-gitignore"),
    *("--no-show-model-warnings", "--no-show-release-notes", "--no-detect-urls", "--no-suggest-shell-commands"),
    *("--no-auto-commits", "--no-dirty-commits"),
    *("--chat-history-file", "/dev/null", "--input-history-file", "/dev/null", "--map-tokens", "0"),
)
"""No streaming: only then does it read the usage. No commits: each is a second call, to a model of its own choice. Its
histories and the cache of its map would lie in the workspace."""
WITHOUT_GIT = ("/bin/sh", "-c", 'git rev-parse >/dev/null 2>&1 || set -- "$@" --no-git; exec "$0" "$@"')
"""Where there is no repository it would make one."""
PRICES = {".aider/caches/model_prices_and_context_window.json": '{"none": {}}'}
"""It would wait for the network to look them up."""
QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
MINI = {
    "MSWEA_CONFIGURED": "true",
    "MSWEA_COST_TRACKING": "ignore_errors",
    "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1",
    "MSWEA_SILENT_STARTUP": "1",
}


class Preset(Command):
    """A known program, in a home of its own."""

    asks = False

    def __init__(self, agent: str, command: tuple[str, ...]) -> None:
        super().__init__(command, "argument")
        self._agent = agent

    def launch(self, setting: Setting) -> Launch:
        if not setting.model:
            raise UsageError(f"worker.model: {self._agent} has to be told one")
        model, brief = f"openai/{setting.model}", as_argument(plainly(setting.brief))
        told = {**QUIET, "OPENAI_API_BASE": f"{setting.base}/v1", "OPENAI_API_KEY": setting.token}
        if self._agent == "aider":
            words: tuple[str, ...] = (*AIDER, "--model", model, "--weak-model", model, "--message", brief)
            return Launch((*WITHOUT_GIT, *self._argv, *words), told, PRICES, programs=self._argv[:1])
        words = ("-m", model, "-y", "--exit-immediately", "-t", brief)
        return Launch((*self._argv, *words), told | MINI, home=True, programs=self._argv[:1])
