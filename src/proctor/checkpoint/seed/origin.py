"""Which repository a workspace's files are of, found by looking at files; nothing of it is run."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from proctor.checkpoint.gitstate.places import common_of, named


@dataclass(frozen=True, slots=True)
class Origin:
    """The repository that a workspace belongs to: its own folder, what it shares with other worktrees, the top of its
    files, and the workspace below that ("" or with a slash at the end)."""

    git: Path
    common: Path
    top: Path
    prefix: bytes


def origin_of(workspace: Path) -> Origin | None:
    """Where a workspace's index is, if it belongs to a repository. Like git, looks upward within one file system."""
    real = Path(os.path.realpath(workspace))
    device = os.stat(real).st_dev
    for folder in (real, *real.parents):
        with contextlib.suppress(OSError):
            if os.stat(folder).st_dev != device:
                return None
            if git := named(folder / ".git"):
                below = os.fsencode(real.relative_to(folder))
                return Origin(git, common_of(git), folder, b"" if below == b"." else below + b"/")
        if folder == real and os.path.lexists(folder / ".git"):
            return None
    return None
