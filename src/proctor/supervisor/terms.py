"""The contract's terms as the loop uses them: plain values, translated once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from proctor.budget.dimensions import Ceiling
from proctor.contract.model import Contract, NotifyCommand
from proctor.contract.problems import FILE
from proctor.contract.state import State
from proctor.contract.values import Channel, SandboxKind
from proctor.journal.events import CeilingFact, CheckFact
from proctor.notify import Channels
from proctor.repository import executed
from proctor.words import Dimension


@dataclass(frozen=True, slots=True)
class Terms:
    """What was agreed: the contract, and where it came from."""

    contract: Contract
    plan: str

    def ceilings(self, raised: Mapping[Dimension, int]) -> list[Ceiling]:
        """The ceilings in force, with what they were `raised` by."""
        return [
            Ceiling(
                dimension,
                terms.limit + raised.get(dimension, 0),
                terms.on_exhaustion,
                terms.per_task,
                terms.per_iteration,
                terms.reserve,
            )
            for dimension, terms in self.contract.budget.ceilings.items()
        ]

    def ceiling_facts(self) -> tuple[CeilingFact, ...]:
        """The ceilings as the journal records them, without extensions."""
        return tuple(
            CeilingFact(dimension=dimension, limit=terms.limit, action=terms.on_exhaustion)
            for dimension, terms in self.contract.budget.ceilings.items()
        )

    def default_checks(self) -> tuple[CheckFact, ...]:
        """Checks for tasks that name none."""
        return tuple(check.fact for check in self.contract.progress.checks)

    def owned(self) -> tuple[str, ...]:
        """Files that are no part of a tree's identity: what the harness writes, and the operator's contract."""
        return owned(self.contract.state)

    def channels(self) -> Channels:
        """Where notices go."""
        given = self.contract.notify
        commands = tuple(tuple(one.run) for one in given if isinstance(one, NotifyCommand))
        return Channels(Channel.BELL in given, Channel.DESKTOP in given, commands)

    def protected(self, workspace: Path) -> tuple[str, ...]:
        """What no worker may write: the oracle, what the operator runs, and what says what is to be done."""
        names = self.contract.state
        run = executed.by_commands(self.channels().commands, workspace.resolve())
        return (*names.protect, FILE, *self.lists(), *run)

    def open_notices(self, workspace: Path) -> tuple[str, ...]:
        """What the commands of `notify` would run and no wall keeps from a worker, a line for each."""
        if self.contract.sandbox.kind is not SandboxKind.BWRAP:
            return ()
        return executed.left_open(self.channels().commands, workspace.resolve())

    def lists(self) -> tuple[str, ...]:
        """The files that say what is to be done; the harness keeps a copy of each."""
        return (self.contract.state.tasks, self.contract.state.plan)

    def smoke_checks(self) -> tuple[CheckFact, ...]:
        """What runs before a worker starts."""
        smoke = self.contract.progress.smoke
        return (smoke.fact,) if smoke else ()

    def final_checks(self) -> tuple[CheckFact, ...]:
        """What runs after the last task."""
        final = self.contract.termination.final
        return (final.fact,) if final else ()


def owned(names: State) -> tuple[str, ...]:
    """What no checkpoint holds and no rollback touches."""
    return (*names.owned, FILE)
