"""Where the fixture can stand: a folder of the disk, since what lies below /tmp is hidden by many a sandbox anyway."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

CANDIDATES = ("/home", "/srv", "/opt", "/var/local")


def _home() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def place() -> Path:
    """A folder that this account can write and others can pass through."""
    given = os.environ.get("PROCTOR_PROBES_PLACE")
    if given:
        return Path(given)
    if os.geteuid():  # the account's own home: HOME may be a folder of a test run's, below /tmp
        return next(Path(home) for home in (_home(), str(Path.home())) if os.access(home, os.W_OK))
    return next(Path(name) for name in CANDIDATES if os.access(name, os.W_OK))
