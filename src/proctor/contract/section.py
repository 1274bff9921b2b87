"""The base of everything in the contract that holds keys of its own."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Base of all sections: unknown keys are refused, values do not change."""

    model_config = ConfigDict(frozen=True, extra="forbid")
