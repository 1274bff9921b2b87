"""The live feed of touched files. A hint, never the truth: it misses what is written through a mapping, and it dies.

The kernel's feed ends at a name that is not UTF-8 or at a limit on watches, and loses events in a flood. Once it is
dead, walks take its place; after a flood, one walk catches up.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Self

from watchfiles._rust_notify import RustNotify

from proctor.text import safe_line
from proctor.workspace import ignore
from proctor.workspace.tree import Touch, Tree

MOST_FOLDERS = 20_000
"""More are walked: opening the watches holds up the whole process for some 25 microseconds a folder."""

_GROUP_MS = 400
_STEP_MS = 100
_FLOOD = 4_000
"""Paths in one group from which the kernel's queue (16,384 by default) may have overflowed unnoticed."""
_TRIES = 5
_LIMITS = ("Too many open files", "No space left", "watch limit reached")
_SHARE = 20
"""Walks and reopenings take a twentieth of the time at most."""


class Watcher:
    """Groups of touches: `async with Watcher(workspace) as feed: async for group in feed: ...`.

    Every change after the entry is reported, some late. While `alive` they come from the kernel; afterwards from
    walks, at least `pause` seconds apart, and `reason` says in one line why. One group, perhaps empty, follows that
    change at once. The iteration ends when the block is left.
    """

    def __init__(self, workspace: Path, most_folders: int = MOST_FOLDERS, pause: float = 2.0) -> None:
        self.alive = True
        self.reason = ""
        self.behind = False
        """Whether more has changed than was reported, until a walk has caught up."""
        self._root = workspace.absolute()
        self._tree = Tree(self._root, ignore.load(workspace))
        self._most_folders = most_folders
        self._pause = pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._groups: asyncio.Queue[tuple[Touch, ...] | None] = asyncio.Queue()
        self._ready = asyncio.Event()
        self._ended = asyncio.Event()
        self._thread.start()
        try:
            await self._ready.wait()
        except asyncio.CancelledError:
            self._stop.set()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop.set()
        await self._ended.wait()
        self._thread.join()

    async def __aiter__(self) -> AsyncIterator[tuple[Touch, ...]]:
        while (group := await self._groups.get()) is not None:
            yield group

    # --- the thread ---------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._tree.walk()
            try:
                self._follow()
            except (OSError, RuntimeError, UnicodeEncodeError) as error:
                self.alive, self.reason = False, f"{_why(error)}; walking the folders instead"
                self._walk()
        except Exception as error:
            self.alive, self.reason = False, f"no feed of changes: {safe_line(str(error))}"
        finally:
            self._post(self._ready.set)
            self._post(self._groups.put_nowait, None)
            self._post(self._ended.set)

    def _follow(self) -> None:
        """Follow the kernel's feed until stopped. Raises when it dies."""
        notify = self._open()
        behind, due = False, 0.0
        try:
            self._post(self._ready.set)
            while (paths := self._next(notify, _GROUP_MS if behind else 0)) is not None:
                self._emit(self._tree.look(paths))
                behind = self.behind = behind or len(paths) >= _FLOOD or bool(self._tree.fresh)
                if not behind or time.monotonic() < due:
                    continue
                started = time.monotonic()
                if self._tree.fresh:
                    with notify:
                        notify = self._open()
                self._emit(self._tree.walk())
                behind = self.behind = bool(self._tree.fresh)
                due = time.monotonic() + _SHARE * (time.monotonic() - started)
        finally:
            notify.close()

    def _next(self, notify: RustNotify, patience: int) -> set[str] | None:
        """The next paths, relative; none after `patience` milliseconds unless that is 0; None once stopped."""
        seen = notify.watch(_GROUP_MS, _STEP_MS, patience, self._stop)
        if isinstance(seen, str):
            return None if seen == "stop" else set()
        prefix = f"{self._root}/"
        return {path.removeprefix(prefix) for _, path in seen if path.startswith(prefix)}

    def _open(self) -> RustNotify:
        """Watches on every folder. One more cannot be added later: fresh ones need all opened anew."""
        for _ in range(_TRIES):
            folders = self._tree.folders
            if not folders:
                raise OSError("the workspace is gone")
            if len(folders) > self._most_folders:
                raise OSError(f"more than {self._most_folders} folders to watch")
            self._tree.fresh.clear()
            paths = [str(self._root / folder) for folder in folders]
            try:
                # Its own way of passing over folders that cannot be read would also pass over a limit that is reached.
                return RustNotify([path for path in paths if os.access(path, os.R_OK)], False, False, 0, False, False)
            except (FileNotFoundError, PermissionError):
                self._emit(self._tree.walk())
        raise OSError("folders come and go too fast to watch them")

    def _walk(self) -> None:
        """Walk until stopped."""
        self._post(self._ready.set)
        pause, first = 0.0, True
        while not self._stop.wait(pause):
            started = time.monotonic()
            self._emit(self._tree.walk(), even_none=first)
            pause, first = max(self._pause, _SHARE * (time.monotonic() - started)), False

    def _emit(self, touches: list[Touch], even_none: bool = False) -> None:
        if touches or even_none:
            self._post(self._groups.put_nowait, tuple(touches))

    def _post(self, call: Callable[..., object], *arguments: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens
            self._loop.call_soon_threadsafe(call, *arguments)


def _why(error: Exception) -> str:
    text = str(error)
    if isinstance(error, UnicodeEncodeError) or "Unable to decode path" in text:
        return "a file name is not UTF-8, which ends the kernel's feed"
    if any(limit in text for limit in _LIMITS):
        return "the kernel's limit on watches is reached (fs.inotify.max_user_watches, max_user_instances)"
    return safe_line(text, 300)
