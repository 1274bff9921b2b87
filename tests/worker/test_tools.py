"""Canonical names and inputs: one vocabulary for all agents, and nothing that decides is lost in it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.approvals import requests
from proctor.worker import tools


@pytest.mark.parametrize(
    ("own", "canonical"),
    [
        ("Bash", "shell"), ("run_shell_command", "shell"), ("bash", "shell"), ("exec_command", "shell"),
        ("Read", "read"), ("read_file", "read"), ("MultiEdit", "write"), ("apply_patch", "write"), ("replace", "write"),
        ("Glob", "search"), ("list_directory", "search"), ("WebSearch", "fetch"), ("webfetch", "fetch"),
        ("Agent", "agent"), ("Task", "agent"), ("AskUserQuestion", "question"),
    ],
)  # fmt: skip
def test_what_agents_call_a_tool_has_one_name(own: str, canonical: str) -> None:
    assert tools.canonical(own) == canonical


@pytest.mark.parametrize(
    ("own", "name"),
    [
        ("TodoWrite", "todowrite"), ("mcp__x__Do It", "mcp__x__do_it"), ("\x1b[31mrm\u202e", "31mrm"), ("", "tool"),
        ("\n", "tool"), ("read", "own.read"), ("ＳＨＥＬＬ", "tool"), ("Shell", "own.shell"), ("host", "own.host"),
        ("x" * 9999, "x" * 100),
    ],
)  # fmt: skip
def test_a_name_of_an_agents_own_is_plain_and_passes_for_no_canonical_one(own: str, name: str) -> None:
    assert tools.canonical(own) == name


@given(st.text())
def test_every_name_is_plain(name: str) -> None:
    own = tools.canonical(name)
    assert own.isascii()
    assert 0 < len(own) <= 104


def test_a_file_is_under_path_and_an_edit_shows_what_goes_and_comes() -> None:
    given = {"file_path": "/w/a", "old_string": "one\ntwo", "new_string": "three", "replace_all": True}
    shown = tools.canonical_input(given)
    assert shown["path"] == "/w/a"
    assert "file_path" not in shown
    assert shown["diff"] == "-one\n-two\n+three"
    assert shown["replace_all"] is True


@pytest.mark.parametrize("given", [{"path": "a", "file_path": "b"}, {"filePath": "a", "notebook_path": "b"}])
def test_of_several_names_of_a_file_none_hides_another(given: dict[str, Any]) -> None:
    assert set(requests.paths(tools.canonical_input(given))) == {"a", "b"}


def test_what_is_nested_deeply_is_too_large() -> None:
    deep: dict[str, Any] = {}
    for _ in range(19):
        deep = {"x": [deep]} if "x" not in deep else {"x": deep}
    assert not tools.is_too_large(deep)
    for _ in range(5_000):
        deep = {"x": deep}
    assert tools.is_too_large(deep)


def test_a_command_is_never_cut_and_what_is_too_large_is_told() -> None:
    shown = tools.canonical_input({"command": "x" * 2_000_000})
    assert len(shown["command"]) == 2_000_000
    assert tools.is_too_large(shown)
    assert not tools.is_too_large(tools.canonical_input({"file_path": "a", "content": "x" * 2_000_000}))


@pytest.mark.parametrize(
    ("change", "granted"),
    [
        ({}, {"file_path": "a", "old_string": "o" * 50_000, "new_string": "n"}),
        ({"path": "b"}, {"file_path": "b", "old_string": "o" * 50_000, "new_string": "n"}),
        ({"new_string": "m"}, {"file_path": "a", "old_string": "o" * 50_000, "new_string": "m"}),
        ({"diff": "-x"}, {"file_path": "a", "old_string": "o" * 50_000, "new_string": "n"}),
        ({"replace_all": True}, {"file_path": "a", "old_string": "o" * 50_000, "new_string": "n", "replace_all": True}),
    ],
)
def test_a_grant_goes_back_under_the_agents_own_keys_and_whole(change: dict[str, Any], granted: dict[str, Any]) -> None:
    given = {"file_path": "a", "old_string": "o" * 50_000, "new_string": "n"}
    assert tools.regiven(given, tools.canonical_input(given) | change) == granted
    assert tools.regiven(given, change) == granted


KEYS = st.sampled_from(["path", "file_path", "command", "diff", "old_string", "new_string", "content", "x"])


@given(st.dictionaries(KEYS, st.text(max_size=5) | st.integers() | st.lists(st.text(max_size=3), max_size=2)))
def test_what_was_shown_and_not_changed_is_granted_as_it_was(given: dict[str, Any]) -> None:
    assert tools.regiven(given, tools.canonical_input(given)) == given
