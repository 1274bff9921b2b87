"""Where the keys and items of a JSON text stand."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from proctor.workspace import lines

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


def walk(value: Any, place: lines.Place = ()) -> list[lines.Place]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [[(*place, key), *walk(item, (*place, key))] for key, item in inside]
    return [one for part in found for one in part if len(one) <= 8]


@given(VALUES)
def test_each_key_and_item_has_a_place_in_the_order_of_the_text(value: Any) -> None:
    assert [place for place, _ in lines.places(json.dumps(value, indent=1))] == walk(value)


@given(VALUES)
def test_the_line_is_the_one_on_which_it_is_written(value: Any) -> None:
    text = json.dumps([{"before": 0}, value, "mark"], indent=0)
    assert text.splitlines()[lines.line_of(text, (2,)) - 1] == '"mark"'
    assert lines.line_of(text, (2, "deeper", 3)) == lines.line_of(text, (2,))
