"""What a watched test runner needs beside its argv: the witness's files in the door, and variables for toolchains."""

from __future__ import annotations

import io
import os
import sys
import zipfile
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from proctor.oracle.toolchains.commands import Kind
from proctor.oracle.witness import OWN
from proctor.oracle.witness_go import LIBRARY
from proctor.sandbox.host import homes
from proctor.sandbox.programs import NAMED

_START = "import sys\nfrom proctor.oracle.witness_native import start\nsys.exit(start(sys.argv[1:]))\n"
_HERE = Path(__file__).parent
_KEPT = (*NAMED, "RUSTUP_TOOLCHAIN")
"""Which toolchain the operator uses, and where it and what it has fetched lie, if not in the usual places."""
_USUAL = (("RUSTUP_HOME", ".rustup"), ("GOPATH", "go"))
"""Of HOME; named, since some checks have another one."""

_NO_START_UP = {
    "PYTHONNOUSERSITE": "1",
    "npm_config_userconfig": os.devnull,
    "GOENV": "off",
    "R_PROFILE_USER": os.devnull,
    "R_ENVIRON_USER": os.devnull,
}
"""What languages would read in a home: one process of a check could leave it there for the next."""
_AT_ONCE = dict.fromkeys(
    ("npm_config_fetch_retries", "YARN_HTTP_RETRY", "PIP_RETRIES", "UV_HTTP_RETRIES", "BUNDLE_RETRY"),
    "0",
)
"""Package managers that ask once. They are not told to be offline: a project may test itself with a registry of its
own, on this machine."""


def files(kind: Kind, plugin: str, own: Collection[str] = (), path: str = "") -> Iterator[tuple[str, bytes, int]]:
    """Name, content and mode of what has to be in the folder that is shown to a check, for a witness of this name.

    `own` are the workspace's modules before the work, `path` is what the check puts on Python's path.
    """
    if kind.is_python:
        yield f"{plugin}.py", (_HERE / "witness.py").read_bytes(), 0o644
        names = (module.rpartition("/")[2] for module in own)
        yield plugin + OWN, "\0".join((path, *names)).encode("utf-8", "surrogateescape"), 0o644
    elif kind.is_node:
        yield f"{plugin}.cjs", (_HERE / "witness_node.cjs").read_bytes(), 0o644
    else:
        yield f"{plugin}.pyz", _archive(), 0o644
    if kind is Kind.CARGO:  # cargo takes one program for its rustdoc
        yield plugin, f'#!/bin/sh\nexec "{sys.executable}" -I -S "$0.pyz" docs "$@"\n'.encode(), 0o755


@cache
def _archive() -> bytes:
    """What Python runs as a script of its own, with the modules that it needs."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        file.writestr("__main__.py", _START)
        for package in ("proctor", "proctor/oracle"):
            file.writestr(f"{package}/__init__.py", "")
        for module in ("witness_native", "witness_go", "witness_cargo"):
            file.writestr(f"proctor/oracle/{module}.py", (_HERE / f"{module}.py").read_bytes())
    return held.getvalue()


def toolchains(kind: Kind | None, built: Path, library: Path | None = None) -> dict[str, str]:
    """The variables with which tools do not wait for a network that is not there, languages take nothing of a home to
    start up with, and Go and Rust build below `built`, which is not there yet.

    What a worker has built is never taken for built; `library` is what `gobuild.py` has.
    """
    usual = {name: str(home / place) for home in homes()[:1] for name, place in _USUAL if (home / place).is_dir()}
    variables = usual | {name: os.environ[name] for name in _KEPT if name in os.environ}
    variables |= _AT_ONCE | _NO_START_UP
    variables |= {"CARGO_NET_OFFLINE": "true", "GOCACHE": str(built / "go"), "GOPROXY": "off", "GOTOOLCHAIN": "local"}
    if kind is Kind.CARGO:  # a script may rely on `target`
        variables["CARGO_TARGET_DIR"] = str(built / "cargo")
    if library:
        variables[LIBRARY] = str(library)
    return variables
