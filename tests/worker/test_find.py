"""Finding an agent's program: what really runs, its version, and one clear line where it is not there."""

from __future__ import annotations

import os
import select
from pathlib import Path

import pytest

from proctor.contract.model import Worker
from proctor.errors import UsageError
from proctor.worker import find
from proctor.worker.acp import Acp
from proctor.worker.claude import Claude
from proctor.worker.codex import Codex
from proctor.worker.codex_exec import CodexExec
from proctor.worker.command import Command
from proctor.worker.dialect import Launch, Setting
from proctor.worker.dialects import choose
from proctor.worker.presets import Preset

SETTING = Setting("/do it", "gpt-4o", "http://127.0.0.1:8377", "token", "/workspace")


def program(folder: Path, name: str, says: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def test_the_version_is_the_programs_own_word_and_a_tested_one_is_no_news(tmp_path: Path) -> None:
    path = program(tmp_path, "claude", "2.1.197 (Claude Code)")
    assert find.agent("claude", path=str(tmp_path)) == find.Found(str(path), "2.1.197")


@pytest.mark.parametrize(
    ("says", "warning"),
    [
        ("9.0.0 (Claude Code)", "claude 9.0.0 was not tested; tested is 2.1.197 to 2.1.328"),
        ("2.1.30", "claude 2.1.30 was not tested; tested is 2.1.197 to 2.1.328"),
        ("no idea", "claude does not tell its version; tested is 2.1.197 to 2.1.328"),
    ],
)
def test_another_version_is_a_warning(tmp_path: Path, says: str, warning: str) -> None:
    program(tmp_path, "claude", says)
    assert find.agent("claude", path=str(tmp_path)).warning == warning


def test_a_version_is_asked_for_in_an_empty_home(tmp_path: Path) -> None:
    program(tmp_path, "opencode", "1.18.33'; touch \"$HOME/left\"; echo '")
    assert find.agent("acp", "opencode", path=str(tmp_path)).version == "1.18.33"
    assert not (Path.home() / "left").exists()


def test_a_program_that_tells_no_version_is_looked_up_where_it_is_installed(tmp_path: Path) -> None:
    path = program(tmp_path / "bin", "mini")
    (tmp_path / "lib/python3.11/site-packages/mini_swe_agent-2.4.6.dist-info").mkdir(parents=True)
    assert find.agent("command", "mini", path=str(tmp_path / "bin")) == find.Found(str(path), "2.4.6")


CLAUDE = "npm install -g @anthropic-ai/claude-code"
GEMINI = "npm install -g @google/gemini-cli"
KNOWN = "aider, claude, codex, gemini, mini, opencode, qwen"


@pytest.mark.parametrize(
    ("worker", "said"),
    [
        (
            ("claude", "", ()),
            f"worker: 'claude' was not found on PATH: install it ({CLAUDE}), or name its path in worker.command",
        ),
        (
            ("acp", "gemini", ("/no/gemini",)),
            f"worker: '/no/gemini' was not found on PATH: install it ({GEMINI}), or name its path in worker.command",
        ),
        (("acp", "later", ()), f"worker.agent: 'later' is not known; known are {KNOWN}"),
    ],
)
def test_what_is_not_there_is_one_line(tmp_path: Path, worker: tuple[str, str, tuple[str, ...]], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        find.locate(*worker, str(tmp_path))
    assert str(raised.value) == said


def test_codex_is_its_own_binary_and_not_the_launcher_that_leaves_it_behind(tmp_path: Path) -> None:
    modules = tmp_path / "node_modules"
    program(modules / "@openai/codex/bin", "codex.js")
    arch = {"x86_64": "x64", "aarch64": "arm64"}[os.uname().machine]
    target = f"{os.uname().machine}-unknown-linux-musl"
    real = program(modules / f"@openai/codex-linux-{arch}/vendor/{target}/bin", "codex")
    (modules / ".bin").mkdir()
    (modules / ".bin/codex").symlink_to("../@openai/codex/bin/codex.js")
    assert find.locate("codex", path=str(modules / ".bin")) == (str(real),)
    real.unlink()
    assert find.locate("codex", path=str(modules / ".bin")) == (str(modules / ".bin/codex"),)


def test_claude_is_the_binary_behind_the_link(tmp_path: Path) -> None:
    real = program(tmp_path / "package/bin", "claude.exe")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/claude").symlink_to(real)
    assert find.locate("claude", path=str(tmp_path / "bin")) == (str(real),)


def test_no_program_is_taken_from_a_workspace(tmp_path: Path) -> None:
    program(tmp_path / "bin", "claude")
    (tmp_path / "proctor.yaml").touch()
    with pytest.raises(UsageError):
        find.locate("claude", path=str(tmp_path / "bin"))


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ("sleep 1000", ""),
        ("sleep 1000 & echo 2.1.200", "2.1.200"),
        ("exec yes 2.1.200", "2.1.200"),
        ("exec yes no", ""),
        ("printf %09999d.1 0", ""),
    ],
)
def test_nothing_runs_on_of_a_program_that_was_asked_for_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, version: str
) -> None:
    monkeypatch.setattr(find, "VERSION_SECONDS", 1)
    os.mkfifo(tmp_path / "alive")
    alive = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    program(tmp_path, "claude").write_text(f"#!/bin/sh\nexec 3>{tmp_path}/alive\n{says}\n")
    assert find.agent("claude", path=str(tmp_path)).version == version
    assert select.select([alive], [], [], 10)[0]  # the end of it, once nobody has it open
    os.close(alive)


def test_the_contracts_worker_has_its_dialect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("claude", "codex", "aider", "mini"):
        program(tmp_path, name)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert type(choose(Worker(kind="claude"))) is Claude
    assert type(choose(Worker(kind="codex"))) is Codex
    assert type(choose(Worker(kind="codex"), asked=False)) is CodexExec
    assert type(choose(Worker(kind="acp", command=("any",)))) is Acp
    assert type(choose(Worker(kind="command", agent="aider"))) is Preset
    plain = choose(Worker(kind="command", command=("any", "thing"), brief="argument"))
    assert type(plain) is Command
    assert plain.asks
    assert plain.launch(SETTING).argv == ("any", "thing", "/do it")


def preset(agent: str) -> Launch:
    dialect = Preset(agent, (f"/usr/bin/{agent}", "--more"))
    assert not dialect.asks
    return dialect.launch(SETTING)


def test_aider_is_told_by_a_message_without_streaming_commits_or_litter() -> None:
    launch = preset("aider")
    assert (launch.argv[:2], launch.argv[3:5]) == (("/bin/sh", "-c"), ("/usr/bin/aider", "--more"))
    assert {"--yes-always", "--no-stream", "--no-auto-commits", "--no-suggest-shell-commands"} < set(launch.argv)
    assert launch.argv[-2:] == ("--message", " /do it")
    assert launch.argv[launch.argv.index("--weak-model") + 1] == "openai/gpt-4o"
    assert launch.environment["OPENAI_API_BASE"] == "http://127.0.0.1:8377/v1"


def test_mini_is_told_by_an_argument_and_never_tries_again() -> None:
    launch = preset("mini")
    assert launch.argv[2:] == ("-m", "openai/gpt-4o", "-y", "--exit-immediately", "-t", " /do it")
    assert launch.environment["MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT"] == "1"
    assert launch.home


def test_a_preset_needs_a_model() -> None:
    with pytest.raises(UsageError, match=r"worker\.model"):
        Preset("mini", ("mini",)).launch(Setting("x", None, "", "", ""))
