"""One table of verbs feeds the command line and the README."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from proctor.cli.main import main, parser
from proctor.cli.registry import VERBS, table
from proctor.tui.actions import ACTIONS

ROOT = Path(__file__).parents[2]
CONTRACTED = [
    "init",
    "check",
    "run",
    "attach",
    "list",
    "status",
    "drift",
    "watch",
    "pause",
    "resume",
    "park",
    "stop",
    "fresh",
    "note",
    "approvals",
    "approve",
    "deny",
    "checkpoint",
    "checkpoints",
    "show",
    "diff",
    "rollback",
    "undo",
    "prune",
    "export",
    "audit",
    "extend",
    "sandbox",
    "demo",
]


def test_the_verbs_are_those_that_users_rely_on() -> None:
    assert [verb.name for verb in VERBS] == CONTRACTED


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_verb_has_its_code(verb: object) -> None:
    module, _, function = verb.code.partition(":")  # type: ignore[attr-defined]
    assert callable(getattr(import_module(f"proctor.cli.{module}"), function))


def test_the_readme_has_the_table_of_the_registry() -> None:
    readme = (ROOT / "README.md").read_text()
    found = re.search(r"<!-- verbs -->\n(.*?)<!-- /verbs -->", readme, re.S)
    assert found
    assert found[1].strip() == table().strip()


def test_every_act_of_the_screen_is_a_verb_of_the_command_line() -> None:
    for action in ACTIONS:
        words = action.cli.split()
        if words:
            assert words[0] in CONTRACTED, action


@pytest.mark.parametrize(
    "words", [["frob"], ["approve"], ["extend", "--by", "3"], ["status", "--bogus"], ["run", "a", "b"]]
)
def test_wrong_words_are_told_in_one_line_with_exit_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("proctor: ")
    assert said.count("\n") == 1


def test_no_verb_shows_the_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "rollback" in capsys.readouterr().out


def test_help_of_every_verb_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for name in CONTRACTED:
        with pytest.raises(SystemExit) as caught:
            parser().parse_args([name, "--help"])
        assert caught.value.code == 0
    assert "usage: proctor demo" in capsys.readouterr().out
