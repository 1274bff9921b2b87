from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from typing import Any

import pytest

from proctor.errors import UsageError
from proctor.words import Api
from proctor.worker.acp import Acp
from proctor.worker.dialect import Launch, Stdin
from worker.streams import SETTING

AGENTS = ("opencode", "gemini", "qwen")


def launched(agent: str, *apis: Api, **more: Any) -> Launch:
    return Acp(agent).launch(replace(SETTING, apis=apis, **more))


@pytest.mark.parametrize("agent", AGENTS)
def test_a_known_agent_is_started_with_the_gateway_alone(agent: str) -> None:
    launch = launched(agent)
    assert agent in launch.argv
    assert (launch.stdin, launch.home, launch.programs) == (Stdin.OPEN, True, (agent,))
    assert "http://127.0.0.1:8377" in json.dumps(dict(launch.environment))
    assert not any("8377" in text for text in launch.files.values())
    for name, text in launch.files.items():
        assert tomllib.loads(text) if name.endswith(".toml") else json.loads(text), name
    with pytest.raises(UsageError, match=r"worker\.model"):
        launched(agent, model=None)


@pytest.mark.parametrize(
    ("apis", "package", "path"),
    [
        ((), "anthropic", "/v1"),
        ((Api.CHAT, Api.MESSAGES), "anthropic", "/v1"),
        ((Api.CHAT,), "openai-compatible", "/v1"),
        ((Api.RESPONSES,), "openai", "/v1"),
        ((Api.GEMINI,), "google", "/v1beta"),
    ],
)
def test_opencode_asks_in_what_the_gateway_speaks_and_puts_its_calls_to_the_rules(
    apis: tuple[Api, ...], package: str, path: str
) -> None:
    launch = launched("opencode", *apis, instructions="Be brief.")
    config = json.loads(launch.environment["OPENCODE_CONFIG_CONTENT"])
    (provider,) = config["provider"].values()
    assert provider["npm"] == f"@ai-sdk/{package}"
    assert provider["options"]["baseURL"] == f"http://127.0.0.1:8377{path}"
    assert config["permission"]["*"] == "ask"
    assert config["permission"]["task"] == "deny"
    assert launch.files == {".config/opencode/AGENTS.md": "Be brief."}
    assert launch.environment["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1"


def test_gemini_and_qwen_put_their_calls_to_the_rules_and_read_no_env_file() -> None:
    gemini, qwen = launched("gemini").files, launched("qwen")
    asked, denied = tomllib.loads(gemini[".gemini/policies/proctor.toml"])["rule"]
    assert {"run_shell_command", "read_file", "glob"} < set(asked["toolName"])
    assert (asked["decision"], asked["argsPattern"], denied["decision"]) == ("ask_user", ".", "deny")
    assert json.loads(gemini[".gemini/settings.json"])["advanced"]["ignoreLocalEnv"]
    settings = json.loads(qwen.files[".qwen/settings.json"])
    assert {"Read", "Bash"} < set(settings["permissions"]["ask"])
    assert (settings["permissions"]["deny"], settings["disableAllHooks"]) == (["Agent"], True)
    assert qwen.argv[2].startswith('cd "$HOME" && QWEN_CODE_SYSTEM_SETTINGS_PATH=')


def test_any_other_agent_is_started_by_its_command() -> None:
    launch = Acp("", ("my-agent", "--acp")).launch(SETTING)
    assert (launch.argv, launch.programs, launch.stdin) == (("my-agent", "--acp"), ("my-agent",), Stdin.OPEN)
    assert launch.environment["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8377"
    with pytest.raises(UsageError, match=r"worker\.agent"):
        Acp("unheard-of").launch(SETTING)
    with pytest.raises(UsageError, match=r"worker\.command"):
        Acp().launch(SETTING)
