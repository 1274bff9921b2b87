"""Where the fixture can stand: a folder of the disk, since what lies below /tmp is hidden by many a sandbox anyway."""

from __future__ import annotations

import os
from pathlib import Path

CANDIDATES = ("/home", "/srv", "/opt", "/var/local")


def place() -> Path:
    """A folder that this account can write and others can pass through."""
    given = os.environ.get("PROCTOR_PROBES_PLACE")
    if given:
        return Path(given)
    if os.geteuid():
        return Path.home()
    return next(Path(name) for name in CANDIDATES if os.access(name, os.W_OK))
