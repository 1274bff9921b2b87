"""Where models are and what they cost: the contract's `gateway`, a frozen value; money is micro-dollars."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import model_validator

from proctor.contract.section import Section
from proctor.contract.values import (
    Address,
    Billing,
    Family,
    Header,
    HeaderValue,
    KeyName,
    Money,
    Name,
    OneOrMany,
    Record,
    Text,
    UnknownPaths,
)


class Upstream(Section):
    base_url: Address
    key: KeyName | None = None
    """Where the key is: `env:NAME`, a variable of the operator's environment; `file:PATH`, a file's first line;
    `keyring:SERVICE/USER`. It never enters the sandbox."""
    speaks: Annotated[tuple[Family, ...], OneOrMany()] = ()
    """The languages it understands: anthropic, openai, gemini. Left out: the one that its name says, else any."""
    auth: Header | None = None
    """The header that the key goes into; `authorization` takes it as a bearer. Left out: the language's own."""
    query: dict[str, Text] = {}
    """Added to each request, such as Azure's `api-version`."""
    headers: dict[Header, HeaderValue] = {}
    billing: Billing = Billing.METERED
    """`subscription`: a login pays, not a price per call; cost is shown by list price and counts against no ceiling,
    unless `enforce_subscription` says so."""


class Price(Section):
    """Micro-dollars a million tokens."""

    input: Money
    output: Money
    cache_read: Money | None = None
    """As `input` where it is not given; so is `cache_write`."""
    cache_write: Money | None = None
    cache_write_1h: Money | None = None
    """Twice `input` where it is not given."""

    @model_validator(mode="before")
    @classmethod
    def _one_for_all(cls, value: Any) -> Any:
        alone = isinstance(value, str | int | float)
        return dict.fromkeys(("input", "output", "cache_write_1h"), value) if alone else value


class Gateway(Section):
    upstream: dict[Name, Upstream] = {}
    unknown_paths: UnknownPaths = UnknownPaths.MODELS
    record: Record = Record.META
    enforce_subscription: bool = False
    prices: dict[str, Price] = {}
    """Dollars a million tokens, where the list prices do not know a model or are not yours; 0 is free."""
