"""Which plan and which rulebook a workspace has now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from proctor.contract.state import State
from proctor.errors import ProctorError
from proctor.workspace import files, tasks


@dataclass(frozen=True, slots=True)
class Papers:
    """The plan and the rulebook of one workspace, by the contract's names."""

    workspace: Path
    names: State

    def revisions(self) -> tuple[str, str]:
        """The revisions of plan and rules as they are now; "" for one that is not there or cannot be read."""
        return self._revision(self.names.plan), self._revision(self.names.rules)

    def _revision(self, name: str) -> str:
        try:
            text = files.read_optional(self.workspace, name)
        except (ProctorError, OSError):
            return ""
        return "" if text is None else tasks.plan_revision(text)
