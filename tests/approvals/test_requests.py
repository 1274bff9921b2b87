from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.approvals import requests


@pytest.mark.parametrize(
    ("tool", "given", "text"),
    [
        ("shell", {"command": "git push"}, "git push"), ("shell", {"command": ["bash", "-lc", "x"]}, "bash -lc x"),
        ("write", {"path": "a.py", "content": "x"}, "a.py"),
        ("write", {"changes": [{"path": "a"}, {"path": "b"}]}, "a b"),
        ("host", {"host": "Example.org.", "port": 443}, "example.org:443"), ("fetch", {"url": "https://x"}, "https://x"),
        ("own", {"a": 1}, '{"a":1}'), ("own", {}, ""), ("shell", {"id": 3}, '{"id":3}'),
    ],
)  # fmt: skip
def test_one_text_stands_for_an_input(tool: str, given: dict[str, Any], text: str) -> None:
    assert requests.argument(tool, given) == text


@pytest.mark.parametrize(
    ("tool", "given", "parts"),
    [
        ("shell", {"command": "git push"}, ("git push",)),
        ("shell", {"command": "cd x && CI=1 pytest -q | tee > out"}, ("cd x", "CI=1 pytest -q", "tee", "writes …/out")),
        ("shell", {"command": "bash -lc 'a; env -i b'"}, ("a", "b")),
        ("shell", {"command": "sudo a $x"}, ("sudo a …", "a …")),
        ("shell", {"command": "a", "env": {"PATH": "x"}}, ("PATH=x a",)),
        ("shell", {"command": "a '"}, ("a", "perhaps more")),
        ("write", {"changes": [{"path": "a"}, {"path": "b"}]}, ("a", "b")), ("own", {"x": 1}, ()),
    ],
)  # fmt: skip
def test_what_a_call_would_do_is_told_piece_by_piece(tool: str, given: dict[str, Any], parts: tuple[str, ...]) -> None:
    assert requests.parts(tool, given) == parts


def test_two_requests_are_the_same_whatever_is_said_about_them() -> None:
    one = requests.identity("shell", {"command": "make", "description": "build it", "timeout": 3})
    assert one == requests.identity("shell", {"command": "make", "description": "try again"})
    assert one != requests.identity("shell", {"command": "make", "cwd": "/elsewhere"})
    assert one != requests.identity("shell", {"command": "make", "env": {"PATH": "x"}})
    edit = {"path": "a", "old_string": "x", "new_string": "y"}
    assert requests.identity("edit", edit) == requests.identity("write", dict(reversed(edit.items())))
    assert requests.identity("write", edit) != requests.identity("write", {**edit, "new_string": "z"})


keys = st.sampled_from(["path", "changes", "command", "diff", "host", "x"])
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner),
)


@given(
    st.sampled_from(["shell", "write", "host", "own"]),
    st.dictionaries(st.sampled_from(["path", "command", "x"]), json),
)
def test_any_input_has_its_text_parts_and_identity(tool: str, given: dict[str, Any]) -> None:
    assert isinstance(requests.argument(tool, given), str)
    assert isinstance(requests.parts(tool, given), tuple)
    assert requests.identity(tool, given) == requests.identity(tool, dict(given))
