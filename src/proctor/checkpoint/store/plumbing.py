"""Running git's plumbing on the private store: one writer at a time, faults as sentences.

Nothing that lies in the tree is executed: no hooks, filters, attributes, monitors, prompts. GitPython's own command
layer always adds the parent's environment, so that a `GIT_*` there could not be kept out; therefore the commands are
started here, and GitPython reads.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import json
import os
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, cast

from proctor.checkpoint.store.command import Command
from proctor.checkpoint.store.hygiene import environment, git_program
from proctor.errors import Unrecoverable, UsageError
from proctor.text import safe_line
from proctor.trees import walk

LOCK_PATIENCE = 120.0
"""Seconds to wait for another process that is using the store."""

NOTHING_MORE: Mapping[str, str] = MappingProxyType({})

ALTERNATES = "GIT_ALTERNATE_OBJECT_DIRECTORIES"
BORROWED = "borrowed"
"""The file in a store that names the folders of others' objects that it reads."""
_ATTRIBUTES = b"* -text !eol -ident !filter !working-tree-encoding !diff !merge\n"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EFBIG)


@contextlib.contextmanager
def disk_faults(where: Path) -> Iterator[None]:
    """Turn a full disk, a missing permission and their like into the one sentence they deserve."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            place = safe_line(os.fsencode(error.filename or where))
            raise Unrecoverable(
                f"{place}: {os.strerror(error.errno)}; free or allow it, then run again", "disk"
            ) from error
        raise


class Git:
    """Git on one private bare repository over one workspace. Sync; safe to use from several threads."""

    def __init__(self, workspace: Path, gitdir: Path, *, borrows: bool = False) -> None:
        """`borrows`: the store may share files with the operator's repository, and read it; no worker writes that."""
        self.workspace = Path(os.path.abspath(workspace))
        self.top = os.fsencode(self.workspace)
        self.gitdir = Path(os.path.abspath(gitdir))
        self.borrows = borrows
        self._held = threading.local()
        self.idle: Command | None = None
        """A command that holds the lock and gives way to whoever wants it."""

    # --- commands -----------------------------------------------------------------------------

    def run(
        self,
        *args: str,
        input: bytes = b"",
        ok: Sequence[int] = (0,),
        env: Mapping[str, str] = NOTHING_MORE,
        work: Path | None = None,
        config: Sequence[str] = (),
    ) -> bytes:
        """Run one command and return what it printed.

        `env` is laid over the environment, `work` stands in for the workspace. Raises `GitFailed` with git's own
        words, `Unrecoverable` for a full disk or a workspace that is gone, `Trapped` for rules that are no files.
        """
        with self.start(*args, input=input, env=env, work=work, config=config) as command:
            return command.output(ok)

    def start(
        self,
        *args: str,
        input: bytes = b"",
        env: Mapping[str, str] = NOTHING_MORE,
        work: Path | None = None,
        config: Sequence[str] = (),
        group: bool = False,
        piped: bool = False,
    ) -> Command:
        """Start a command without waiting for it, perhaps in a group of its own; leaving its context ends it. `piped`:
        what it prints is read while it runs, and kept nowhere."""
        argv = [git_program(), *(part for pair in config for part in ("-c", pair)), *args]
        where = work or self.workspace
        held = getattr(self._held, "fd", None)
        out, err, fed = None if piped else _memory(b""), _memory(b""), _memory(input)
        try:
            process = subprocess.Popen(
                argv,
                cwd=where,
                env={**environment(self.gitdir, where), **self.borrowing, **env},
                stdin=fed,
                stdout=out or subprocess.PIPE,
                stderr=err,
                pass_fds=() if held is None else (held,),
                umask=self.umask,
                process_group=0 if group else None,
            )
        except FileNotFoundError as error:
            raise Unrecoverable(f"{where}: the workspace is gone", "workspace") from error
        finally:
            fed.close()
        verb = next(word for word in args if not word.startswith("-"))
        return Command(self.gitdir, verb, process, out or cast(BinaryIO, process.stdout), err, traps=self.traps)

    @property
    def lenders(self) -> list[Path]:
        """The folders of objects of others that the store reads, too."""
        if self.borrows:
            with contextlib.suppress(OSError, ValueError, TypeError):
                return [Path(folder) for folder in json.loads((self.gitdir / BORROWED).read_bytes())]
        return []

    @property
    def borrowing(self) -> dict[str, str]:
        """What has a command read them."""
        return {ALTERNATES: listed(self.lenders)}

    @functools.cached_property
    def umask(self) -> int:
        """What files and folders are made with, fixed when the store was made: only other modes need a note."""
        try:
            return int((self.gitdir / "umask").read_text(), 8)
        except (OSError, ValueError):
            return _process_umask()

    # --- the repository itself ----------------------------------------------------------------

    def exists(self) -> bool:
        return (self.gitdir / "HEAD").exists()

    def require(self) -> None:
        """One clear error unless there is a store with objects in it."""
        if not (self.gitdir / "objects").is_dir():
            state = "damaged: it has no objects" if self.exists() else "missing"
            raise Unrecoverable(
                f"{self.gitdir}: the checkpoint store is {state}; put it back from a copy, or remove it to begin anew",
                "checkpoints",
            )

    def create(self) -> None:
        """Make the store if there is none, and put its fixed files right. HEAD is the last of them to be made."""
        with disk_faults(self.gitdir):
            if not self.exists():
                self.gitdir.mkdir(mode=0o700, parents=True, exist_ok=True)
                for folder in ("objects/pack", "objects/info", "refs/proctor", "info"):
                    (self.gitdir / folder).mkdir(parents=True, exist_ok=True)
                self._fixed("umask", f"{self.umask:03o}\n".encode())
            self.require()
            self._fixed("info/attributes", _ATTRIBUTES)
            self._fixed("config", b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
            self._fixed("HEAD", b"ref: refs/proctor/none\n")

    def _fixed(self, name: str, content: bytes) -> None:
        path = self.gitdir / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(exist_ok=True)
            write_file(path, content)

    @contextlib.contextmanager
    def locked(self, make: bool = False) -> Iterator[None]:
        """Be the only one who uses the store. Git commands hold the lock too, should this process die before them.

        `make` creates a store that is missing. Locks that dead processes left are removed.
        """
        if make:
            self.create()
        self.require()
        with disk_faults(self.gitdir):
            fd = os.open(self.gitdir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._flock(fd)
            for folder in (self.gitdir, self.gitdir / "refs" / "proctor"):
                for stale in folder.glob("*.lock"):
                    if not stale.name.split(".")[1].isdigit():  # that of a temporary index may be in use
                        stale.unlink(missing_ok=True)
            self._held.fd = fd
            with disk_faults(self.gitdir):
                yield
        finally:
            self._held.fd = None
            os.close(fd)

    def _flock(self, fd: int) -> None:
        deadline = time.monotonic() + LOCK_PATIENCE
        while True:
            try:
                return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    said = f"{self.gitdir}: another process is using the checkpoint store; try again later"
                    raise UsageError(said) from None
                if self.idle is not None:
                    self.idle.end()
                time.sleep(0.01)

    def remove_leftovers(self) -> None:
        """Remove the temporary indexes of processes that are gone."""
        for path in self.gitdir.glob("index.*"):
            if not os.path.exists(f"/proc/{path.name.split('.')[1]}"):
                path.unlink(missing_ok=True)

    def traps(self) -> list[bytes]:
        """FIFOs, sockets and devices in the places where git expects rules, or inside nested repositories."""
        found = []
        own = os.fsencode(self.gitdir.parent)
        for folder, folders, files in walk(self.top):
            if folder == self.top:
                folders[:] = [name for name in folders if name != b".git"]
            folders[:] = [name for name in folders if os.path.join(folder, name) != own]
            inside = b".git" in folder[len(self.top) :].split(b"/")
            for name in files:
                if (inside or name in (b".gitignore", b".gitattributes")) and _is_special(os.path.join(folder, name)):
                    found.append(os.path.join(folder, name))
        return found


def write_file(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Replace a file: old or new, never half, and on disk before the return if it is to be durable."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        with open(draft, "xb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def listed(folders: Iterable[Path]) -> str:
    """Folders of objects as git reads them from a variable."""
    return ":".join(json.dumps(str(folder), ensure_ascii=False) for folder in folders)


def joined(paths: Iterable[bytes]) -> bytes:
    """Paths as git reads them from its input."""
    return b"".join(path + b"\0" for path in paths)


def split(output: bytes) -> list[bytes]:
    """Paths as git prints them."""
    return output.split(b"\0")[:-1]


def _memory(content: bytes) -> BinaryIO:
    file = os.fdopen(os.memfd_create("git"), "r+b")
    file.write(content)
    file.seek(0)
    return file


def _is_special(path: bytes) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return (mode & 0o170000) not in (0o100000, 0o120000, 0o040000)


def _process_umask() -> int:
    with open("/proc/self/status", "rb") as status:
        return int(next(line for line in status if line.startswith(b"Umask:")).split()[1], 8)
