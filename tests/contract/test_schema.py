from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from proctor.contract.schema import schema
from proctor.contract.starter import init

from .conftest import SMALLEST
from .test_load import FULL

KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str, "number": (int, float), "integer": int, "boolean": bool, "array": list, "object": dict,
    "null": type(None),
}  # fmt: skip


def fits(value: Any, rule: dict[str, Any], root: dict[str, Any]) -> bool:
    """Enough of a JSON schema's meaning for what the contract's schema uses."""
    if "$ref" in rule:
        return fits(value, root["$defs"][rule["$ref"].rsplit("/", 1)[1]], root)
    if options := rule.get("anyOf") or rule.get("oneOf"):
        return any(fits(value, option, root) for option in options)
    kinds = rule.get("type", list(KINDS))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(isinstance(value, KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool)) for kind in kinds):
        return False
    if isinstance(value, dict) and (properties := rule.get("properties", {})) is not None:
        other = rule.get("additionalProperties", True)
        return all(key in value for key in rule.get("required", [])) and all(
            fits(item, properties[key], root)
            if key in properties
            else (fits(item, other, root) if isinstance(other, dict) else other)
            for key, item in value.items()
        )
    if isinstance(value, list):
        return len(value) >= rule.get("minItems", 0) and all(fits(item, rule.get("items", {}), root) for item in value)
    return value in rule.get("enum", [value])


def test_the_schema_is_json_and_takes_what_loads(tmp_path: Path) -> None:
    made = json.loads(json.dumps(schema()))
    init(tmp_path)
    for text in (SMALLEST, FULL, (tmp_path / "proctor.yaml").read_text()):
        assert fits(yaml.safe_load(text), made, made)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("limit: 40", "limt: 40"),
        ("on_exhaustion: park", "on_exhaustion: pause"),
        (", on_exhaustion: park", ""),
        ("kind: command", "kind: shell"),
        ("run: [pytest, -q]", "run: []"),
        ("goal: ", "gaol: "),
    ],
)
def test_the_schema_refuses_what_does_not_load(good: str, bad: str) -> None:
    made = schema()
    assert not fits(yaml.safe_load(SMALLEST.replace(good, bad)), made, made)


def test_amounts_may_be_numbers_or_as_people_write_them() -> None:
    made = schema()
    for limit in ("2M", 2_000_000):
        value = yaml.safe_load(SMALLEST)
        value["budget"]["iterations"]["limit"] = limit
        value["state"] = {"protect": "tests/"}
        assert fits(value, made, made)


def test_the_least_of_a_limit_is_told_to_editors() -> None:
    limits = schema()["$defs"]["Limits"]["properties"]
    assert limits["memory"]["anyOf"] == [
        {"type": "string"},
        {"type": "number", "minimum": 64 << 20, "maximum": 1 << 50},
    ]
    assert limits["processes"]["anyOf"][1]["minimum"] == 16


def test_keys_say_what_they_are_for() -> None:
    sections = schema()["$defs"]
    assert sections["Budget"]["properties"]["elapsed"]["description"] == "Calendar time."
    assert sections["Check"]["properties"]["schema"]["description"] == "JSON that a schema describes."
