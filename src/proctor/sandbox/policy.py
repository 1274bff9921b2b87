"""What a sandboxed command may see, write and use: values that the backends turn into walls."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from proctor.errors import UsageError
from proctor.sandbox import host

DOOR = "/run/proctor"
"""Where a policy's door folder stands inside."""

GATEWAY_PORT = 8377
GATEWAY = f"127.0.0.1:{GATEWAY_PORT}"
"""The address inside of the listener that `Policy.listen` asks for."""

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one sandbox. Bytes, except `processes` and `open_files`; `memory` and `file_size` are per process."""

    memory: int = 4 * GIB
    processes: int = 512
    file_size: int = 2 * GIB
    open_files: int = 4096
    scratch: int = 512 * MIB


@dataclass(frozen=True, slots=True)
class Repository:
    """The private git repository that a command gets in the place of the workspace's own.

    `folder` is the host's, writable at `place` inside. `pointer` is where inside a file naming `place` stands, for
    a workspace whose `.git` is no folder: the workspace's own `.git` file, or one above the workspace, where nothing
    of the host is. `borrowed` are (host, inside) read-only: the objects of the operator's repository, and its modules.
    """

    folder: Path
    place: Path
    pointer: Path | None = None
    borrowed: tuple[tuple[Path, Path], ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """The walls of one command.

    `workspace` is the folder's path inside and, unless `source` names another host folder (a throwaway copy),
    on the host. `protect` and `hide` are paths relative to it: the first stay readable, the second do not; one
    that does not exist stays absent; so are `blank`, which are there and empty. `programs` are those that must run:
    what they are installed with comes along. `repository` stands in for `.git`, which is read-only without one.
    `unix_sockets` says whether Unix sockets may be made. `readonly` adds folders or files as (host, inside).
    `environment` comes on top of the few variables every command gets; it, like the command, may name `DOOR` and
    `GATEWAY`, which a backend without namespaces replaces by their real places. `door` is a host folder shown
    read-only at `DOOR`; `listen` asks for a listener on `GATEWAY`.
    """

    workspace: Path
    source: Path | None = None
    writable: bool = True
    protect: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    repository: Repository | None = None
    unix_sockets: bool = True
    readonly: tuple[tuple[Path, Path], ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = Limits()
    door: Path | None = None
    listen: bool = False
    chdir: Path | None = None

    @property
    def folder(self) -> Path:
        """The host folder that is the workspace inside."""
        return self.source or self.workspace

    @property
    def shared(self) -> bool:
        """Whether the workspace's folder hands its group on to what is made in it, as folders of a team do."""
        return bool(os.stat(self.folder).st_mode & stat.S_ISGID)


def relative_parts(text: str) -> tuple[str, ...]:
    """The components of a path relative to the workspace; UsageError when it could lead out of it."""
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise UsageError(f"{text!r} is not a path inside the workspace: name it relative to it, without `..`")
    return path.parts


def settled(policy: Policy) -> Policy:
    """The policy with real paths; UsageError when the workspace is no folder, or one that cannot be walled in."""
    if not policy.folder.is_dir():
        raise UsageError(f"{policy.folder}: not a folder: name the folder of the project to work in")
    workspace = policy.workspace.resolve()
    for home in host.homes():
        if home.is_relative_to(workspace):
            raise UsageError(f"{workspace} holds your home folder {home}: work in a project folder below it")
    if any(f"{folder}/".startswith(f"{workspace}/") for folder in host.SYSTEM):
        raise UsageError(f"{workspace} is a folder of the system: work in a project folder")
    if workspace in map(Path.resolve, host.OWN) or workspace.is_relative_to(host.PACKAGE):
        raise UsageError(f"{workspace} is what this program runs from: install it elsewhere, or in a folder below")
    return replace(policy, workspace=workspace, source=policy.source and policy.source.resolve())
