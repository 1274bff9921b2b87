"""Where the covers of a running sandbox hang: the paths that must stay what they are on the host.

A cover hangs on a file, not on a name. When the host renames another file over it, takes it away or moves it, the
name inside is open: an editor that saves by renaming does that. Then everything inside is stopped, at once.
"""

from __future__ import annotations

import ctypes
import os
import re
import select
import stat
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proctor.sandbox.policy import Policy, relative_parts
from proctor.sandbox.running import Running

BEAT = 0.1
"""Seconds between looks, where no event asks for one."""

_OWN = ((".git",), (".proctor",))
_CREATED, _DELETED, _MOVED, _OVERFLOW = 0x100, 0x200, 0xC0, 0x4000
_ONLY_FOLDERS, _NO_LINKS = 0x01000000, 0x02000000
_HERE, _LARGEST = -100, 128
"""`AT_FDCWD`, and `MAX_HANDLE_SZ`."""
_LIBC = ctypes.CDLL(None)
_EVENT = struct.Struct("iIII")

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells a file from every other: its numbers (device, inode, kind) may be used again when it is gone, but not
    with the same file handle, which is b"" where the file system gives none. `changed` is when it changed last (ns)."""

    numbers: tuple[int, int, int]
    handle: bytes
    changed: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Points:
    """What stood at each path when it was remembered; None where nothing did."""

    workspace: Path
    known: Mapping[Parts, Identity | None]
    """The covered paths and the folders above them, those above first."""
    covered: tuple[Parts, ...]
    free: frozenset[Parts] = frozenset()
    """Absent paths that may be made: what appears there moves nothing."""

    @classmethod
    def of(cls, policy: Policy, free: Iterable[str] = ()) -> Points:
        """The points of a policy, as they are now: call it before the launch.

        `free` are protected paths that may be made where they are absent, since nobody trusts what appears there.
        """
        guarded = {relative_parts(name) for name in (*policy.protect, *policy.hide)}
        present = {*_OWN, *(relative_parts(name) for name in policy.blank)}  # a worker may make these
        known: dict[Parts, Identity | None] = {}
        for parts in sorted(guarded | present, key=lambda parts: (len(parts), parts)):
            identity = _identity(policy.folder.joinpath(*parts))
            if identity is None and parts not in guarded:
                continue
            for depth in range(1, len(parts)):
                if above := _identity(policy.folder.joinpath(*parts[:depth])):
                    known.setdefault(parts[:depth], above)
            known[parts] = identity
        order = sorted(known, key=lambda parts: (len(parts), parts))
        covered = tuple(parts for parts in order if parts in guarded | present)
        hidden = {relative_parts(name) for name in policy.hide}
        absent = {parts for parts in map(relative_parts, free) if parts not in hidden and known.get(parts, ()) is None}
        return cls(policy.folder, {parts: known[parts] for parts in order}, covered, frozenset(absent))

    def moved(self) -> tuple[str, ...]:
        """The paths at which something else stands now, or nothing, or where nothing did; the outermost first."""
        return tuple("/".join(parts) for parts, was in self.known.items() if self._moved(parts, was))

    def left_open(self, moved: Iterable[str]) -> tuple[str, ...]:
        """Every covered path that is one of those that moved, or that lies below one."""
        gone = {relative_parts(path) for path in moved}
        hit = (parts for parts in self.covered if any(parts[:depth] in gone for depth in range(1, len(parts) + 1)))
        return tuple("/".join(parts) for parts in hit)

    def made(self) -> tuple[str, ...]:
        """The free paths at which something stands now."""
        return tuple(sorted("/".join(parts) for parts in self.free if self._now(parts)))

    def was_absent(self, path: str) -> bool:
        """Whether nothing stood at a point when it was remembered."""
        return self.known.get(relative_parts(path), ()) is None

    def _moved(self, parts: Parts, was: Identity | None) -> bool:
        return parts not in self.free and self._now(parts, was) != was

    def _now(self, parts: Parts, was: Identity | None = None) -> Identity | None:
        return _identity(self.workspace.joinpath(*parts), was)


def _identity(path: Path, was: Identity | None = None) -> Identity | None:
    try:
        about = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    numbers = about.st_dev, about.st_ino, stat.S_IFMT(about.st_mode)
    if was and (was.numbers, was.changed) == (numbers, about.st_ctime_ns):
        return was
    return Identity(numbers, _handle(path), about.st_ctime_ns)


class _Handle(ctypes.Structure):
    _fields_ = (("size", ctypes.c_uint), ("kind", ctypes.c_int), ("bytes", ctypes.c_ubyte * _LARGEST))


def _handle(path: Path) -> bytes:
    handle, mount = _Handle(size=_LARGEST), ctypes.c_int()
    if _LIBC.name_to_handle_at(_HERE, os.fsencode(path), ctypes.byref(handle), ctypes.byref(mount), 0):
        return b""
    return bytes(handle.bytes[: handle.size])


@dataclass(frozen=True, slots=True)
class Moved:
    """A point that moved, and the covered paths that it left open.

    `exposed` is False when everything inside stood still since all was last seen in its place; `appeared` is True
    where nothing had been.
    """

    path: str
    paths: tuple[str, ...]
    exposed: bool
    appeared: bool = False


class Vigil:
    """Watches the points of one running sandbox from a thread of its own, and freezes it at the first that moves.

    `told` is called once, on that thread, with the sandbox at rest. Only `thaw` may let it go on meanwhile.
    """

    def __init__(self, points: Points, running: Running, told: Callable[[Moved], object]) -> None:
        self._points = points
        self._running = running
        self._told = told
        self._lock = threading.Lock()
        self._moved: Moved | None = None
        self._stood_still = False
        self._covers: set[str] = set()
        self._feed = _Feed(points)
        self._over, self._over_end = os.pipe2(os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._watch, name="vigil", daemon=True)
        self._thread.start()

    def look(self) -> Moved | None:
        """What moved since the launch, as soon as something did."""
        with self._lock:
            return self._look()

    def made(self) -> tuple[str, ...]:
        """The free paths that were absent at the launch and at which something stands now."""
        return self._points.made()

    def thaw(self) -> bool:
        """Let the sandbox go on, unless something moved."""
        with self._lock:
            if self._look() is not None:
                return False
            self._running.thaw()
            self._stood_still = False
            return True

    def end(self) -> Moved | None:
        """A last look, when nothing inside lives any more; the thread is gone afterwards."""
        if self._over_end >= 0:
            os.close(self._over_end)
            self._over_end = -1
            self._thread.join()
            os.close(self._over)
            self._feed.close()
        return self.look()

    def _look(self) -> Moved | None:
        if self._moved is None:
            still = self._running.frozen
            moved = self._points.moved()
            paths = self._points.left_open(moved)
            if not moved:
                moved = paths = self._lost()
            if moved:
                exposed = not (still and self._stood_still)
                self._moved = Moved(moved[0], paths, exposed, self._points.was_absent(moved[0]))
            self._stood_still = still
        return self._moved

    def _lost(self) -> tuple[str, ...]:
        """The covers that the kernel has taken down: also where the number of a file was used again."""
        now = _mounted(self._running.init_pid, self._points.workspace)
        if now is None:
            return ()
        lost = self._covers - now
        self._covers |= now & {"/".join(parts) for parts in self._points.covered}
        return tuple(sorted(lost))

    def _watch(self) -> None:
        poll = select.poll()
        for fd in (self._over, self._feed.fd):
            if fd >= 0:
                poll.register(fd, select.POLLIN)
        looked = 0.0
        while True:
            ready = dict(poll.poll(BEAT * 1000))
            if self._over in ready:
                return
            asked = self._feed.fd in ready and self._feed.names_a_point()
            if not asked and time.monotonic() - looked < BEAT:
                continue
            looked = time.monotonic()
            if moved := self.look():
                self._stop()
                self._told(moved)
                return

    def _stop(self) -> None:
        try:
            self._running.freeze()
        except TimeoutError:
            self._running.kill()


class _Feed:
    """The kernel's word that something came or went by the name of a point; `fd` is -1 where there is none."""

    def __init__(self, points: Points) -> None:
        self._names = {os.fsencode(parts[-1]) for parts in points.known}
        self.fd = _LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for folder in {parts[:-1] for parts in points.known} if self.fd >= 0 else ():
            path = os.fsencode(points.workspace.joinpath(*folder))
            _LIBC.inotify_add_watch(self.fd, path, _CREATED | _DELETED | _MOVED | _ONLY_FOLDERS | _NO_LINKS)

    def names_a_point(self) -> bool:
        """Whether one of the events that wait is about a point."""
        try:
            text = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return False
        at = 0
        while at < len(text):
            _, mask, _, length = _EVENT.unpack_from(text, at)
            at += _EVENT.size + length
            if mask & _OVERFLOW or text[at - length : at].rstrip(b"\0") in self._names:
                return True
        return False

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _mounted(pid: int, workspace: Path) -> set[str] | None:
    """What is mounted below the workspace in the namespace of a process, relative to it; None if that is gone."""
    try:
        lines = Path(f"/proc/{pid}/mountinfo").read_bytes().splitlines()
    except OSError:
        return None
    places = (re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), line.split(b" ", 5)[4]) for line in lines)
    top = os.fsencode(workspace) + b"/"
    return {os.fsdecode(place[len(top) :]) for place in places if place.startswith(top)} or None
