"""Bodies of calls, kept where the contract says `record: full`: without keys, for the owner alone, bounded."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proctor.doors.gateway.keys import Mask

MOST_OF_A_BODY = 16 * 1024 * 1024
MOST_KEPT = 256 * 1024 * 1024
"""Bytes kept of one worker's bodies; what comes after is not."""
# fmt: off
_SECRETS = re.compile(
    rb"(?:sk-|sk_live_|rk_live_|gh[pousr]_|github_pat_|glpat-|xox[abpr]-|AIza|ya29\.|hf_|npm_|pypi-)[A-Za-z0-9_\-.]{16,}"
    rb"|(?:AKIA|ASIA)[A-Z0-9]{16}"
    rb"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
    rb"|-----BEGIN [A-Z ]*PRIVATE KEY-----.{0,8192}?-----END [A-Z ]*PRIVATE KEY-----"
    rb"|(?i:bearer) [A-Za-z0-9_\-.~+/]{16,}=*",
    re.DOTALL,
)
"""Known forms of keys and tokens, wherever in a body they stand."""
# fmt: on
REDACTED = b"[redacted]"


class Recorder:
    """Writes in a thread of its own, in the order it was told; a body that cannot be written is left out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pool = ThreadPoolExecutor(1, "gateway-record")
        self._kept = 0

    def keep(self, call: str, part: str, body: bytes, mask: Mask) -> None:
        """`part` is `request` or `answer`."""
        body = body[:MOST_OF_A_BODY]
        if body and self._kept + len(body) <= MOST_KEPT:
            self._kept += len(body)
            self._pool.submit(self._write, f"{call}.{part}", body, mask)

    def close(self) -> None:
        """Returns when all is written. Blocks."""
        self._pool.shutdown()

    def _write(self, name: str, body: bytes, mask: Mask) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with open(fd, "wb") as file:
                file.write(_SECRETS.sub(REDACTED, mask.whole(body)))
        except OSError:
            return
