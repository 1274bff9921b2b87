"""Which sessions this machine knows: a hint for `list`, never the truth."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from proctor.supervisor.process import state_home


def remember(workspace: Path) -> None:
    """Note a workspace; failing to is no fault."""
    folder = state_home() / "sessions"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        raw = os.fsencode(workspace)
        (folder / hashlib.sha256(raw).hexdigest()[:16]).write_bytes(raw)


def known() -> list[Path]:
    """Workspaces that were noted and still exist, the newest first."""
    folder = state_home() / "sessions"
    try:
        notes = sorted(folder.iterdir(), key=lambda note: note.stat().st_mtime, reverse=True)
    except OSError:
        return []
    found = (Path(os.fsdecode(note.read_bytes())) for note in notes)
    return [workspace for workspace in found if workspace.is_dir()]
