"""The contract's JSON schema, for editors that complete and check YAML."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise
from textwrap import dedent
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import ModelSchema

from proctor.contract.model import Contract
from proctor.contract.section import Section


def schema() -> dict[str, Any]:
    """JSON schema (2020-12) of `proctor.yaml`, with amounts both as numbers and as people write them."""
    made = Contract.model_json_schema(by_alias=True, schema_generator=_Described)
    price = made["$defs"]["Price"]
    made["$defs"]["Price"] = {"anyOf": [price["properties"]["input"], price]}  # one amount stands for all four
    return made | {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "proctor.yaml"}


class _Described(GenerateJsonSchema):
    """Describes a key by the text below it in the source: pydantic's own way reads all sources at every start."""

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        made = super().model_schema(schema)
        model = schema["cls"]
        bases = (base for base in reversed(model.__mro__) if issubclass(base, Section))
        said = dict(pair for base in bases for pair in _said(base))
        for name, field in model.model_fields.items():
            if name in said:
                made["properties"][field.alias or name]["description"] = said[name]
        return made


def _said(section: type[Section]) -> Iterator[tuple[str, str]]:
    """The keys of a section that texts stand below, each with its text."""
    (body,) = (one.body for one in ast.parse(dedent(inspect.getsource(section))).body if isinstance(one, ast.ClassDef))
    for one, below in pairwise(body):
        match one, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield name, inspect.cleandoc(text)
