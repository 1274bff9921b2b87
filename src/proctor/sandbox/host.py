"""What of the host a sandboxed command sees, which of the operator's tools come back, and which variables.

An allow-list: the system's folders, read-only. Homes, other projects, data of services, runtime sockets, mounts and
whatever else stands at the top level do not exist inside. Tools that lie outside the system's folders come back.
"""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import proctor
from proctor.sandbox import private, programs
from proctor.sandbox.programs import Link, within

# fmt: off
SYSTEM = (
    "/bin", "/etc", "/gnu/store", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/nix/var/nix/profiles",
    "/opt", "/sbin", "/snap", "/sys/devices/system", "/usr", "/var/guix/profiles",
    *(f"/var/lib/{name}" for name in (
        "aspell", "dpkg", "gems", "ghostscript", "ocaml", "pacman", "php/modules", "rpm", "texmf",
    )),
)
"""What stays visible. Of /sys only the processors and their memory: the rest tells of the host's devices. Of
/var/lib what tools of installed packages need: the rest is data and sockets of services. Each entry is a mount, and
costs every launch a tenth of a millisecond and more."""

VARIABLES = frozenset((
    "COLORTERM", "LANG", "LANGUAGE", "LOGNAME", "SHELL", "TERM", "TZ", "USER", "VIRTUAL_ENV",
))
"""Passed on from the operator's environment, beside LC_*."""
# fmt: on

SCRATCH = ("/tmp", "/var/tmp")  # noqa: S108 - inside, where they are nobody else's
MADE = (*SCRATCH, "/dev", "/proc", "/run")
"""What every sandbox has of its own."""

NOWHERE = Path("/home/worker")
"""The home inside of a user who has none."""

SHARED = frozenset(map(Path, ("/var", "/var/lib", "/usr", "/usr/local", "/usr/src", "/opt")))
"""Folders that may hold a home or a project and much else: where one lies directly there, its neighbours are seen."""

PACKAGE = Path(proctor.__file__).parent.resolve()
OWN = (Path(sys.prefix), Path(sys.base_prefix))
"""The interpreter in use: shown wherever it lies."""


@dataclass(frozen=True, slots=True)
class View:
    """One operator's host; real paths, shown where they are.

    `home` is HOME, and the scratch home inside; `homes` also the account's own. `masks` are folders below the
    system's that hold homes, projects or other mounts. `tools` come back, and `links` are the ways to them.
    """

    home: Path
    homes: tuple[Path, ...]
    masks: tuple[Path, ...]
    tools: tuple[Path, ...]
    links: tuple[Link, ...]


def view(workspace: Path | None = None, wanted: tuple[str, ...] = ()) -> View:
    """The host as it is for this process's HOME and PATH, with what `wanted` programs need.

    The neighbours of a workspace below the system's folders are masked. Looked at once, but for what is mounted.
    """
    home, path = (os.environ.get(name, "") for name in ("HOME", "PATH"))
    named = tuple(programs.named(os.environ))
    return _view(home, path, private.mounted(SYSTEM), workspace, wanted, named)


def homes() -> tuple[Path, ...]:
    """HOME and the account's own home; real paths."""
    return _homes(os.environ.get("HOME", ""))


@cache
def _homes(home: str) -> tuple[Path, ...]:
    try:
        account = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a user id without an account, as containers have it
        account = ""
    return tuple(Path(text).resolve() for text in (home, account) if text and Path(text).resolve() != Path("/"))


@cache
def _view(  # noqa: PLR0917 - what is looked at is the key
    home: str,
    path: str,
    mounts: tuple[Path, ...] = (),
    workspace: Path | None = None,
    wanted: tuple[str, ...] = (),
    named: tuple[Path, ...] = (),
) -> View:
    homes = _homes(home)
    around = {place if place.parent in SHARED else place.parent for place in homes}
    if workspace and workspace.parent not in SHARED:
        around.add(workspace.parent)
    masks = tuple(sorted(outermost(folder for folder in {*mounts, *around} if below_system(folder))))
    found = {*OWN, *named, *(tool for place in homes[:1] for tool in programs.usual(place))}
    for name in filter(os.path.isabs, path.split(os.pathsep)):
        if not Path(name).is_relative_to("/mnt"):  # programs of another system
            found.add(Path(name))
            if not programs.passes(Path(name), workspace):
                found.add(programs.around(Path(name).resolve()))
    found |= set(programs.needed(wanted, path, homes, workspace))
    found = {path for path in found if not programs.passes(path, workspace)}
    return View(homes[0] if homes else NOWHERE, homes, masks, *_shown(found, homes, masks))


def _shown(
    found: set[Path], homes: tuple[Path, ...], masks: tuple[Path, ...]
) -> tuple[tuple[Path, ...], tuple[Link, ...]]:
    """The real paths of what was found outside the system, without what lies in another, and the links to them."""
    trails = [programs.trail(path) for path in found]
    ours = {path.resolve() for path in OWN}

    def seen(path: Path) -> bool:
        return below_system(path) and not within(path, masks)

    def open_to_all(path: Path) -> bool:
        if path in ours or os.path.isfile(path):
            return not any(home.is_relative_to(path) for home in homes)
        return os.path.isdir(path) and programs.may_show(path, homes)

    tools = outermost(real for _, real in trails if not seen(real) and open_to_all(real))
    reached = [link for links, real in trails if seen(real) or within(real, tools) for link in links]
    links = {(text, at) for text, at in reached if not seen(at) and not within(at, tools) and str(at) not in MADE}
    return tuple(sorted(tools)), tuple(sorted(links))


def is_closed(place: Path, shown: View, extra: Iterable[Path] = ()) -> bool:
    """Whether a path inside lies in a read-only folder of the host, so that nothing can be made there."""
    solid = (*map(Path, SYSTEM), *shown.tools, *extra)
    holders = [folder for folder in (*solid, *shown.masks) if place.is_relative_to(folder)]
    return bool(holders) and max(holders, key=lambda folder: len(folder.parts)) not in shown.masks


def outermost(paths: Iterable[Path]) -> set[Path]:
    """The paths that lie in no other of them."""
    paths = set(paths)
    return {path for path in paths if paths.isdisjoint(path.parents)}


def below_system(path: Path) -> bool:
    return within(path, SYSTEM)


@cache
def own() -> frozenset[Path]:
    """Everything this program runs from, which no worker may write: interpreter, packages, itself; real paths."""
    loaded = (Path(name) for name in sys.path if os.path.isabs(name) and os.path.exists(name))
    return frozenset(path.resolve() for path in (*OWN, PACKAGE, *loaded))


def environment() -> dict[str, str]:
    """The variables every sandboxed command gets: where programs and its scratch space are, and the locale."""
    kept = {name: text for name, text in os.environ.items() if name in VARIABLES or name.startswith("LC_")}
    path = [text for text in os.environ.get("PATH", os.defpath).split(os.pathsep) if text.startswith("/")]
    installed = str(Path(sys.prefix) / "bin")
    if installed not in path:
        path.append(installed)
    scratch = {"HOME": str(next(iter(homes()), NOWHERE)), "TMPDIR": SCRATCH[0]}
    return kept | scratch | {"PATH": os.pathsep.join(path), "GIT_CONFIG_NOSYSTEM": "1"}
