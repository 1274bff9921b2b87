"""What of the host a sandboxed command sees, which of the operator's tools come back, and which variables.

An allow-list: the system's folders, read-only. Homes, other projects, runtime sockets, mounts and whatever else
stands at the top level do not exist inside. Tools that lie outside the system's folders come back by name.
"""

from __future__ import annotations

import os
import pwd
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import proctor

# fmt: off
SYSTEM = (
    "/bin", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/sbin", "/snap", "/usr",
    "/var/cache", "/var/lib", "/sys/devices/system",
)
"""What stays visible. Of /sys only the processors and their memory: the rest tells of the host's devices."""

TOOLS = (
    ".asdf", ".bun/bin", ".bun/install/global", ".cargo/bin", ".claude/local", ".deno/bin", ".ghcup/bin", ".local/bin",
    ".local/lib", ".local/pipx", ".local/share/claude", ".local/share/fnm", ".local/share/mise", ".local/share/pipx",
    ".local/share/pnpm", ".local/share/uv/python", ".local/share/uv/tools", ".npm-global", ".nvm", ".opencode/bin",
    ".pyenv", ".rbenv", ".rustup", ".sdkman/candidates", ".volta", "go/bin",
)
"""Folders of HOME that hold programs and no secrets. Not ~/.local/share/uv: it keeps credentials."""

VARIABLES = frozenset((
    "COLORTERM", "LANG", "LANGUAGE", "LOGNAME", "SHELL", "TERM", "TZ", "USER", "VIRTUAL_ENV",
))
"""Passed on from the operator's environment, beside LC_*."""
# fmt: on

SCRATCH = ("/tmp", "/var/tmp")  # noqa: S108 - inside, where they are nobody else's

SHARED = frozenset(map(Path, ("/var/lib", "/usr", "/usr/local", "/opt")))
"""Folders that may hold a home and much else: where a home lies directly there, its neighbours stay visible."""

OWN = (Path(sys.prefix), Path(sys.base_prefix), Path(proctor.__file__).parent)
"""The interpreter in use and this program: no worker may write them, wherever they lie."""


@dataclass(frozen=True, slots=True)
class View:
    """One operator's host; real paths.

    `home` is HOME, and the scratch home inside; `homes` also the account's own. `masks` are folders of homes that
    lie below the system's. `tools` are (host, inside).
    """

    home: Path
    homes: tuple[Path, ...]
    masks: tuple[Path, ...]
    tools: tuple[tuple[Path, Path], ...]


def view() -> View:
    """The host as it is for this process's HOME and PATH; looked at once."""
    return _view(os.environ.get("HOME", ""), os.environ.get("PATH", ""))


@cache
def _view(home: str, path: str) -> View:
    try:
        account = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a user id without an account, as containers have it
        account = ""
    homes = tuple(Path(text).resolve() for text in (home, account) if text and Path(text).resolve() != Path("/"))
    folders = (home if home.parent in SHARED else home.parent for home in homes)
    masks = tuple({folder for folder in folders if _below_system(folder)})
    return View(homes[0] if homes else Path("/home/worker"), homes, masks, tuple(_tools(homes, masks, path)))


def _below_system(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in SYSTEM)


def _tools(homes: tuple[Path, ...], masks: tuple[Path, ...], path: str) -> Iterator[tuple[Path, Path]]:
    found = {home / name for home in homes[:1] for name in TOOLS}
    for folder in OWN:
        found |= {folder, folder.resolve()}
    for name in filter(os.path.isabs, path.split(os.pathsep)):
        folder = Path(os.path.normpath(name))
        is_prefix = any((folder.parent / mark).exists() for mark in ("pyvenv.cfg", "conda-meta"))
        if not folder.is_relative_to("/mnt"):  # programs of another system
            found.add(folder.parent if is_prefix else folder)
    missing = {
        folder
        for folder in found
        if folder.is_dir()
        and (not _below_system(folder) or any(map(folder.is_relative_to, masks)))
        and not any(home.is_relative_to(folder.resolve()) for home in homes)
    }
    for folder in sorted(missing):
        if not missing.intersection(folder.parents):
            yield folder.resolve(), folder


def kernel_files() -> tuple[str, ...]:
    """What stays writable below a fresh /proc: settings of the own namespaces, and for the host's root much more."""
    names = ("sys", "pressure", "sysrq-trigger", "fs", "scsi", "acpi", "mtrr")
    return tuple(f"/proc/{name}" for name in (names[:2] if os.geteuid() else names))


@cache
def root_only() -> tuple[Path, ...]:
    """For the host's root: what of the system's settings and data is closed to other users, and not empty."""
    if os.geteuid():
        return ()
    return (*_closed("/etc", 8), *_closed("/var/cache", 2), *_closed("/var/lib", 2))


def _closed(folder: str, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        about = entry.stat(follow_symlinks=False)
        if stat.S_ISREG(about.st_mode) and about.st_size and not about.st_mode & stat.S_IROTH:
            yield Path(entry.path)
        elif stat.S_ISDIR(about.st_mode):
            if about.st_mode & stat.S_IXOTH:
                yield from _closed(entry.path, depth - 1) if depth > 1 else ()
            elif os.listdir(entry.path):
                yield Path(entry.path)


def environment() -> dict[str, str]:
    """The variables every sandboxed command gets: where programs and its scratch space are, and the locale."""
    kept = {name: text for name, text in os.environ.items() if name in VARIABLES or name.startswith("LC_")}
    path = [text for text in os.environ.get("PATH", os.defpath).split(os.pathsep) if text.startswith("/")]
    programs = str(Path(sys.prefix) / "bin")
    if programs not in path:
        path.append(programs)
    scratch = {"HOME": str(view().home), "TMPDIR": SCRATCH[0]}
    return kept | scratch | {"PATH": os.pathsep.join(path), "GIT_CONFIG_NOSYSTEM": "1"}
