"""The contract's JSON schema, for editors that complete and check YAML."""

from __future__ import annotations

from typing import Any

from proctor.contract.model import Contract


def schema() -> dict[str, Any]:
    """JSON schema (2020-12) of `proctor.yaml`, with amounts both as numbers and as people write them."""
    made = Contract.model_json_schema(by_alias=True)
    price = made["$defs"]["Price"]
    made["$defs"]["Price"] = {"anyOf": [price["properties"]["input"], price]}  # one amount stands for all four
    return made | {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "proctor.yaml"}
