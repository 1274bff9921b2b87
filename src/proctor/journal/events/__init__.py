"""The events: every fact a session leaves behind, one struct a kind.

An event is written once and never changed. Field names are short because rows are many, and stable
because journals outlive programs: a field may be added with a default, never renamed or removed.
A change of meaning raises the kind's version and adds an upcaster.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from proctor.journal.encoding import encode_json
from proctor.journal.events.audit import (
    Audited as Audited,
)
from proctor.journal.events.audit import (
    Unverified as Unverified,
)
from proctor.journal.events.base import (
    CeilingFact as CeilingFact,
)
from proctor.journal.events.base import (
    Event as Event,
)
from proctor.journal.events.base import (
    Figure as Figure,
)
from proctor.journal.events.base import (
    Finding as Finding,
)
from proctor.journal.events.base import (
    TaskFact as TaskFact,
)
from proctor.journal.events.base import (
    TaskId as TaskId,
)
from proctor.journal.events.base import (
    TaskMark as TaskMark,
)
from proctor.journal.events.base import (
    Unknown as Unknown,
)
from proctor.journal.events.budget import (
    CeilingRaised as CeilingRaised,
)
from proctor.journal.events.budget import (
    Decided as Decided,
)
from proctor.journal.events.budget import (
    Degraded as Degraded,
)
from proctor.journal.events.budget import (
    LevelCrossed as LevelCrossed,
)
from proctor.journal.events.budget import (
    LoopSeen as LoopSeen,
)
from proctor.journal.events.budget import (
    PlateauCleared as PlateauCleared,
)
from proctor.journal.events.budget import (
    PlateauFired as PlateauFired,
)
from proctor.journal.events.budget import (
    PlateauReset as PlateauReset,
)
from proctor.journal.events.budget import (
    PlateauSignal as PlateauSignal,
)
from proctor.journal.events.calls import (
    ModelAsked as ModelAsked,
)
from proctor.journal.events.calls import (
    ModelCall as ModelCall,
)
from proctor.journal.events.calls import (
    ProviderLimited as ProviderLimited,
)
from proctor.journal.events.checkpoints import (
    CheckpointConfirmed as CheckpointConfirmed,
)
from proctor.journal.events.checkpoints import (
    CheckpointsPruned as CheckpointsPruned,
)
from proctor.journal.events.checkpoints import (
    CheckpointTaken as CheckpointTaken,
)
from proctor.journal.events.checkpoints import (
    RollbackBegun as RollbackBegun,
)
from proctor.journal.events.checkpoints import (
    RolledBack as RolledBack,
)
from proctor.journal.events.checks import (
    CheckFact as CheckFact,
)
from proctor.journal.events.drift import (
    DriftAnswered as DriftAnswered,
)
from proctor.journal.events.drift import (
    DriftSeen as DriftSeen,
)
from proctor.journal.events.drift import (
    Named as Named,
)
from proctor.journal.events.drift import (
    PlanAccepted as PlanAccepted,
)
from proctor.journal.events.drift import (
    PlanConfirmed as PlanConfirmed,
)
from proctor.journal.events.drift import (
    PlanRotted as PlanRotted,
)
from proctor.journal.events.drift import (
    Surveyed as Surveyed,
)
from proctor.journal.events.operator import (
    Logged as Logged,
)
from proctor.journal.events.operator import (
    Noted as Noted,
)
from proctor.journal.events.operator import (
    Noticed as Noticed,
)
from proctor.journal.events.operator import (
    OrderTaken as OrderTaken,
)
from proctor.journal.events.operator import (
    RequestClosed as RequestClosed,
)
from proctor.journal.events.operator import (
    RequestOpened as RequestOpened,
)
from proctor.journal.events.session import (
    ContractLoaded as ContractLoaded,
)
from proctor.journal.events.session import (
    OracleFrozen as OracleFrozen,
)
from proctor.journal.events.session import (
    PlanRevised as PlanRevised,
)
from proctor.journal.events.session import (
    Rebound as Rebound,
)
from proctor.journal.events.session import (
    SessionStarted as SessionStarted,
)
from proctor.journal.events.session import (
    StatusChanged as StatusChanged,
)
from proctor.journal.events.session import (
    SupervisorEnded as SupervisorEnded,
)
from proctor.journal.events.session import (
    SupervisorStarted as SupervisorStarted,
)
from proctor.journal.events.session import (
    TasksLoaded as TasksLoaded,
)
from proctor.journal.events.work import (
    Autorun as Autorun,
)
from proctor.journal.events.work import (
    ClaimRecorded as ClaimRecorded,
)
from proctor.journal.events.work import (
    Exposed as Exposed,
)
from proctor.journal.events.work import (
    FalseClaim as FalseClaim,
)
from proctor.journal.events.work import (
    IterationEnded as IterationEnded,
)
from proctor.journal.events.work import (
    IterationStarted as IterationStarted,
)
from proctor.journal.events.work import (
    Judged as Judged,
)
from proctor.journal.events.work import (
    OperatorWrote as OperatorWrote,
)
from proctor.journal.events.work import (
    Quarantined as Quarantined,
)
from proctor.journal.events.work import (
    Regressed as Regressed,
)
from proctor.journal.events.work import (
    Reserved as Reserved,
)
from proctor.journal.events.work import (
    Settled as Settled,
)
from proctor.journal.events.work import (
    Spent as Spent,
)
from proctor.journal.events.work import (
    Suspected as Suspected,
)
from proctor.journal.events.work import (
    TakenOver as TakenOver,
)
from proctor.journal.events.work import (
    Tampered as Tampered,
)
from proctor.journal.events.work import (
    TaskCommitted as TaskCommitted,
)
from proctor.journal.events.work import (
    TaskDone as TaskDone,
)
from proctor.journal.events.work import (
    TaskMoved as TaskMoved,
)
from proctor.journal.events.work import (
    ToolCalled as ToolCalled,
)
from proctor.journal.events.work import (
    WorkerStarted as WorkerStarted,
)

AnyEvent = (
    SessionStarted
    | Rebound
    | SupervisorStarted
    | SupervisorEnded
    | ContractLoaded
    | StatusChanged
    | OracleFrozen
    | PlanRevised
    | TasksLoaded
    | Reserved
    | Settled
    | IterationStarted
    | WorkerStarted
    | ModelAsked
    | ModelCall
    | ProviderLimited
    | Spent
    | ToolCalled
    | ClaimRecorded
    | IterationEnded
    | OperatorWrote
    | Judged
    | Regressed
    | Audited
    | FalseClaim
    | Tampered
    | Suspected
    | Exposed
    | TakenOver
    | Quarantined
    | Autorun
    | TaskDone
    | TaskCommitted
    | TaskMoved
    | CheckpointTaken
    | CheckpointConfirmed
    | CheckpointsPruned
    | RollbackBegun
    | RolledBack
    | LevelCrossed
    | CeilingRaised
    | Degraded
    | PlateauSignal
    | PlateauFired
    | PlateauCleared
    | PlateauReset
    | LoopSeen
    | Surveyed
    | PlanAccepted
    | PlanRotted
    | PlanConfirmed
    | DriftSeen
    | DriftAnswered
    | Decided
    | RequestOpened
    | RequestClosed
    | OrderTaken
    | Noted
    | Noticed
    | Logged
)

KINDS: dict[str, type[Event]] = {str(kind.__struct_config__.tag): kind for kind in AnyEvent.__args__}
VERSION = 1
UPCASTERS: dict[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""`(kind, version) -> f(body)`: lifts a stored body to the next version. Pure; tested on recorded journals."""

_decoders: dict[str, msgspec.json.Decoder[Event]] = {name: msgspec.json.Decoder(kind) for name, kind in KINDS.items()}


class Row(msgspec.Struct, frozen=True):
    """One journal row: an event with its place, its time and the fencing token of its writer."""

    seq: int
    at: datetime
    token: int
    event: Event


def kind_of(event: Event) -> str:
    """The stable name of an event's kind."""
    return event.name if isinstance(event, Unknown) else str(event.__struct_config__.tag)


def encode(event: Event) -> bytes:
    """The stored form of an event."""
    return bytes(event.body) if isinstance(event, Unknown) else encode_json(event)


def decode(kind: str, version: int, body: bytes) -> Event:
    """Read a stored event, lifting old versions; an unknown or newer kind is kept whole as `Unknown`."""
    decoder = _decoders.get(kind)
    if decoder is None or version > VERSION:
        return Unknown(name=kind, body=msgspec.Raw(body))
    lifted = False
    data: dict[str, Any] = {}
    while version < VERSION:
        if not lifted:
            data, lifted = msgspec.json.decode(body), True
        data, version = UPCASTERS[kind, version](data), version + 1
    return msgspec.convert(data, KINDS[kind]) if lifted else decoder.decode(body)
