"""A session whose workspace is elsewhere than it was: moved or copied, it goes on there."""

from __future__ import annotations

import uuid
from pathlib import Path

from proctor.checkpoint.identity import Bond
from proctor.checkpoint.repository import Store
from proctor.journal import events as ev
from proctor.journal.port import JournalPort


def settle_in(journal: JournalPort, store: Store, workspace: Path) -> None:
    """Write down, once, where the session is now; a copy becomes a session of its own. Wants the workspace's lock."""
    bond, state = store.bond(), journal.state()
    if state.workspace != str(workspace):
        session = uuid.uuid4().hex[:12] if bond is Bond.COPIED else ""
        journal.append(ev.Rebound(workspace=str(workspace), was=state.workspace, session=session))
    if bond is not Bond.SAME:
        store.bind()
    if store.theirs:
        store.settle()
