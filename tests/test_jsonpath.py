"""Paths into JSON name what they say, and anything else is refused."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor import jsonpath

DATA = {"a": {"b c": [1, {"d": 2}]}, "e": [3, 4], "": 5}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", [DATA]), ("$.a['b c'][0]", [1]), ('$["a"]["b c"][-1].d', [2]), ("$.e[*]", [3, 4]), ("$.e.*", [3, 4]),
        ("$.e[2]", []), ("$.e[-3]", []), ("$.e.a", []), ("$.a[0]", []), ("$.nothing", []), ("$['']", [5]),
        ("$.*.*", [[1, {"d": 2}], 3, 4]),
    ],
)  # fmt: skip
def test_a_path_finds_what_it_names(path: str, found: list[object]) -> None:
    assert jsonpath.find(DATA, jsonpath.parse(path)) == found


@pytest.mark.parametrize("path", ["", "a", "$.", "$a", "$.a[", "$[a]", "$..a", "$[1:2]", "$[?(@.a)]", "$.a ", "$['a'"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="is no path such as"):
        jsonpath.parse(path)


@given(st.text(alphabet="$.[]*'\"-a0 "))
def test_any_text_is_a_path_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(jsonpath.find(DATA, jsonpath.parse(text)), list)
