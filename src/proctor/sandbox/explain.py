"""What a command may read, write and reach, in words: read back from what would be launched, and from a launch.

Nothing is told from the policy where the backend's own arguments tell it: a mount that somebody adds shows here.
"""

from __future__ import annotations

import os
import shlex
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from proctor.sandbox import bwrap, calls, host, seccomp, weak
from proctor.sandbox.mounts import Mounts
from proctor.sandbox.places import Is, Place, options, places
from proctor.sandbox.policy import DOOR, GATEWAY, Policy, settled
from proctor.sandbox.running import START_SECONDS, Backend
from proctor.text import safe_line
from proctor.units import format_size

WIDTH = 80
LABEL = 13

Facts = dict[str, object]
Row = tuple[str, str | list[str]]
"""A label, and a sentence or a list beside it."""

NAMESPACES = {
    "--unshare-user": "users",
    "--unshare-pid": "processes",
    "--unshare-net": "network",
    "--unshare-ipc": "shared memory",
    "--unshare-uts": "host name",
    "--unshare-cgroup-try": "control groups",
}
ANYTHING = ["anything: the command has your files, your network and your variables"]
LATER = ["what your own tools run later of the files it wrote", "how much the workspace grows"]
INSIDE = ["protected and hidden paths", ".git and .proctor", "the list of processes", "UDP", "shared memory"]


class _Told:
    """All that is known of a launch under one policy."""

    def __init__(self, policy: Policy, backend: Backend) -> None:
        self.policy = policy = settled(policy)
        self.backend = backend
        with backend.launch(["/bin/sh", "-c", ":"], policy) as running:
            running.wait(START_SECONDS)
            self.together, lacking = running.bounds.held, running.bounds.lacking
        self.places: tuple[Place, ...] = ()
        self.rules: dict[str, list[str]] = {}
        self.own: list[str] = []
        self.network = True
        self.capable = os.geteuid() == 0
        self.closed: list[str] = []
        self.partly: list[str] = []
        self.unix_sockets = policy.unix_sockets
        self.environment = sorted({*os.environ, *policy.environment})
        not_held = ANYTHING
        if backend.name == "bwrap":
            self._read_arguments()
            not_held = [*(LATER if policy.writable else []), "faults of the kernel"]
        elif backend.name == "weak":
            allowed = weak.rules(policy).items()
            self.rules = {kind: [path for path in paths if os.path.exists(path)] for kind, paths in allowed}
            self.environment = sorted({*host.environment(), *policy.environment})
            self.network = False
            self._read_calls(seccomp.program(policy.unix_sockets, shared=policy.shared))
            not_held = [*INSIDE, *LATER]
        self.not_held = [*not_held, *lacking]

    def short(self, *paths: str) -> list[str]:
        """Paths as they are shown: relative to workspace or home, made safe, quoted where a shell wants it."""
        shown = []
        for path in paths:
            for folder, sign in ((self.policy.workspace, "./"), (next(iter(host.homes()), None), "~/")):
                if folder and path.startswith(f"{folder}/"):
                    shown.append(sign + shlex.quote(safe_line(path[len(f"{folder}/") :])))
                    break
            else:
                shown.append(shlex.quote(safe_line(path)))
        return shown

    def _read_arguments(self) -> None:
        mounts = Mounts(self.policy, [self.backend.binary] if isinstance(self.backend, bwrap.Bubblewrap) else [])
        try:
            words = bwrap.arguments(self.policy, mounts)
            self.places = places(words)
            given = list(options(words))
            filters = [os.pread(int(word[1]), 1 << 16, 0) for word in given if word[0] == "--seccomp"]
        finally:
            mounts.close()
        names = {option for option, *_ in given}
        self.own = [name for option, name in NAMESPACES.items() if option in names]
        self.network = "--unshare-net" not in names
        self.capable = ("--cap-drop", "ALL") not in given or "--cap-add" in names
        self.environment = sorted(word[1] for word in given if word[0] == "--setenv")
        for program in filters:
            self._read_calls(program)

    def _read_calls(self, program: bytes) -> None:
        self.closed, self.partly = calls.closed(program)
        self.unix_sockets = calls.makes_unix_sockets(program)


def facts(policy: Policy, backend: Backend, notes: Sequence[str] = ()) -> Facts:
    """What holds for a command under this policy, as plain values; Unrecoverable where nothing can be started.

    `notes` are lines on what was found in this workspace, which are told as they are.
    Starts a command that does nothing, for the limits that can be had here. From the main thread only.
    """
    told = _Told(policy, backend)
    limits = told.policy.limits
    return {
        "backend": backend.name,
        "by": backend.describe(),
        "workspace": str(told.policy.workspace),
        "places": [asdict(place) for place in told.places],
        "rules": told.rules,
        "gateway": GATEWAY if policy.listen else None,
        "door": str(policy.door) if policy.door else None,
        "network": told.network,
        "unix_sockets": told.unix_sockets,
        "namespaces": told.own,
        "capabilities": told.capable,
        "closed_calls": told.closed,
        "partly_closed_calls": told.partly,
        "environment": told.environment,
        "limits": {**asdict(limits), "together": list(told.together)},
        "not_held": told.not_held,
        "notes": list(notes),
    }


def lines(policy: Policy, backend: Backend, notes: Sequence[str] = ()) -> list[str]:
    """The same for people: 80 columns, but for a path that is longer. `./` is the workspace, `~` the home."""
    told = _Told(policy, backend)
    said = [*_row("workspace", safe_line(str(told.policy.workspace))), *_row("runs by", backend.describe())]
    noted: list[Row] = [("", safe_line(note)) for note in notes]
    for heading, rows in (
        ("To know", noted),
        ("It can write", _writes(told)),
        ("It can read", _reads(told)),
        ("It cannot read", _hidden(told)),
        ("It cannot move", _of(told, Is.PIN)),
        ("It can reach", _reaches(told)),
        ("It runs with", _runs_with(told)),
        ("Not held", [("", line) for line in told.not_held]),
    ):
        written = [line for label, text in rows if text for line in _row(label, text)]
        said += ["", heading, *written] if written else []
    return said


def _writes(told: _Told) -> list[Row]:
    if told.rules:
        return [
            ("workspace", told.short(*told.rules["write"])),
            ("scratch", "a folder of its own, gone afterwards"),
            ("devices", told.rules["device"]),
        ]
    if not told.places:
        return [("", "whatever you can")]
    workspace = str(told.policy.workspace)
    written = [place for place in told.places if place.kind is Is.WRITTEN]
    plain = [place.path for place in written if place.path == place.source]
    return [
        ("workspace", [path for path in plain if path == workspace]),
        ("also", told.short(*(path for path in plain if path != workspace))),
        *_elsewhere(told, [place for place in written if place.path not in plain]),
        *_scratch(told),
    ]


def _elsewhere(told: _Told, found: Iterable[Place]) -> list[Row]:
    """What stands at another path than on the host."""
    shown = [told.short(place.path, place.source) for place in found]
    return [("at", [path, "which is", source]) for path, source in shown]


def _scratch(told: _Told) -> list[Row]:
    sizes: dict[int, list[str]] = {}
    for place in told.places:
        if place.kind is Is.SCRATCH:
            sizes.setdefault(place.size, []).append(place.path)
    rows: list[Row] = []
    for size, paths in sizes.items():
        bound = f"{format_size(size)} each" if size else "without a bound"
        rows += [("scratch", told.short(*paths)), ("", f"empty at first, gone afterwards, {bound}")]
    return rows


def _reads(told: _Told) -> list[Row]:
    if told.rules:
        return [("", told.short(*told.rules["read"]))]
    if not told.places:
        return [("", "whatever you can")]
    workspace = told.policy.workspace
    rows: dict[str, list[str]] = {name: [] for name in ("workspace", "system", "settings", "tools")}
    elsewhere: list[Place] = []
    for place in told.places:
        path = Path(place.path)
        if place.kind is not Is.READ or place.path == DOOR:
            continue
        if path.is_relative_to(workspace):
            rows["workspace"].append(place.path)
        elif place.source != place.path:
            elsewhere.append(place)
        elif place.path.startswith(("/proc/", "/dev/")):
            rows["settings"].append(place.path)
        else:
            rows["system" if host.below_system(path) else "tools"].append(place.path)
    kinds = {kind: [place for place in told.places if place.kind is kind] for kind in Is}
    files = [f"{told.short(place.path)[0]} = {safe_line(place.source) or 'empty'}" for place in kinds[Is.FILE]]
    links = [" -> ".join((told.short(place.path)[0], safe_line(place.source))) for place in kinds[Is.LINK]]
    return [
        *((label, told.short(*paths)) for label, paths in rows.items()),
        *_elsewhere(told, elsewhere),
        ("replaced", files),
        ("links", links),
        ("its own", told.short(*(place.path for place in (*kinds[Is.KERNEL], *kinds[Is.EMPTY])))),
    ]


def _hidden(told: _Told) -> list[Row]:
    rows = _of(told, Is.HIDDEN)
    if told.places and all(place.path != "/" for place in told.places):
        rows.append(("else", "what is not named here does not exist"))
    return rows


def _of(told: _Told, kind: Is) -> list[Row]:
    workspace = told.policy.workspace
    paths = list(dict.fromkeys(Path(place.path) for place in told.places if place.kind is kind))
    inside = [str(path) for path in paths if path.is_relative_to(workspace) and path != workspace]
    others = [str(path) for path in paths if not path.is_relative_to(workspace)]
    return [("workspace", told.short(*inside)), ("system", told.short(*others))]


def _reaches(told: _Told) -> list[Row]:
    policy = told.policy
    network = "all of yours" if told.network else "no TCP" if told.rules else "none but its own loopback"
    gateway = f"{GATEWAY if told.places else 'a port of its own'}, served from outside"
    door = [*([DOOR, "which is"] if told.places else []), *told.short(str(policy.door))]
    sockets = "its own" if told.places else "all that it may read"
    return [
        ("network", network),
        ("gateway", gateway if policy.listen else ""),
        ("door", door if policy.door else ""),
        ("unix sockets", sockets if told.unix_sockets else "it cannot make any"),
    ]


def _runs_with(told: _Told) -> list[Row]:
    limits = told.policy.limits
    each = f"{format_size(limits.memory)} of memory, {format_size(limits.file_size)} a file, {limits.open_files:,} open"
    closed = f"{len(told.closed)} closed, {len(told.partly)} in part ({', '.join(told.partly)})" if told.closed else ""
    return [
        ("its own", ", ".join(told.own)),
        ("capabilities", "root's" if told.capable else "none, not from setuid programs either"),
        ("system calls", closed),
        ("each process", each),
        *(("together", line) for line in told.together),
        ("variables", told.environment),
    ]


def _row(label: str, text: str | Sequence[str]) -> list[str]:
    """A label and what stands beside it; a path is not broken."""
    width = WIDTH - LABEL - 2
    rows = [""]
    if isinstance(text, str):
        rows = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    else:
        for part in text:
            if rows[-1] and len(rows[-1]) + 2 + len(part) > width:
                rows.append(part)
            else:
                rows[-1] += f"  {part}" if rows[-1] else part
    return [f"  {'' if at else label:<{LABEL}}{row}" for at, row in enumerate(rows)]
