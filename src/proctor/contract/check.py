"""A check as the contract has it: a command, and what has to hold beside its exit code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import msgspec
from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from proctor.contract import kinds
from proctor.contract.section import Section
from proctor.contract.values import REPEATS, TIMEOUT, Argv, Seconds
from proctor.journal.events import CheckFact
from proctor.journal.events.checks import Artifact, Expect, Page, Schema


def _read(read: Callable[..., Any], *forms: dict[str, Any]) -> tuple[PlainValidator, WithJsonSchema]:
    return PlainValidator(partial(read, loose=True)), WithJsonSchema({"anyOf": [*forms, {"type": "null"}]})


def _keys(kind: type[msgspec.Struct], more: dict[str, Any], *needed: str) -> dict[str, Any]:
    """The schema of a rule for editors; amounts may be written as text."""
    made: dict[str, Any] = msgspec.json.schema(kind)["$defs"][kind.__name__]
    found = {key: {k: v for k, v in part.items() if k in ("description", "type", "items")}
             for key, part in made["properties"].items()}  # fmt: skip
    return {"type": "object", "properties": {**found, **more}, "required": list(needed), "additionalProperties": False}


_TEXT = {"type": "string"}
_PORT = {"type": "integer", "minimum": 1, "maximum": 65535}
_STATUS = {"type": "integer", "minimum": 100, "maximum": 599}
_PAGE = {"within": TIMEOUT.schema(), "status": _STATUS, "port": _PORT, "path": _TEXT}


class Check(Section):
    """All that it names has to hold; `run` may be left out where the rest says enough."""

    run: Argv | None = None
    """The program and its arguments; exit code 0 passes, nothing else does."""
    timeout: Seconds = 300.0
    """Seconds."""
    optional: bool = False
    """Reported, and skipped at a soft ceiling; never decides."""
    expect: Annotated[str | Expect | None, *_read(kinds.expect, _TEXT, _keys(Expect, {"equals": {}}))] = None
    """What the output has to be: a text that it holds, or one or more of `text`, `regex`, `json`, `golden`."""
    allow_vacuous: bool = False
    """A pass counts although the check passed before the work too."""
    repeat: Annotated[int, REPEATS] = 1
    """How often a pass is run again to confirm it, each time on a copy of its own; 0 for a check that costs too much.
    A pass that does not repeat is `unstable`."""
    artifact: Annotated[Artifact | None, *_read(kinds.artifact, _TEXT, _keys(Artifact, {}, "path"))] = None
    """A file that is there afterwards and not empty."""
    schema_: Annotated[Schema | None, *_read(kinds.schema, _keys(Schema, {}, "schema"))] = Field(
        default=None, alias="schema"
    )
    """JSON that a schema describes."""
    page: Annotated[Page | None, *_read(kinds.page, _keys(Page, _PAGE, "run"))] = None
    """A page that a server gives."""

    @model_validator(mode="after")
    def _together(self) -> Check:
        kinds.together(self.fact)
        return self

    @property
    def fact(self) -> CheckFact:
        """The check as the journal records it."""
        return CheckFact(
            run=tuple(self.run or ()),
            timeout=self.timeout,
            optional=self.optional,
            expect=self.expect,
            allow_vacuous=self.allow_vacuous,
            repeat=self.repeat,
            artifact=self.artifact,
            schema=self.schema_,
            page=self.page,
        )
