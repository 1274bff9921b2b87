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
import re
import resource
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, cast

from proctor.checkpoint.store.hygiene import environment, git_program
from proctor.errors import ProctorError, Unrecoverable, UsageError
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
_FULL_WORDS = re.compile(
    rb"No space left on device|Out of diskspace|Disk quota exceeded|File too large"
    rb"|Read-only file system|Input/output error|insufficient permission"
    rb"|[Uu]nable to create temporary file|unable to write (loose|new|sha1|object|file)"
    rb"|Unable to create '[^']*\.lock'"
)
_TRAP_CHECK = 5.0
_READS = frozenset({"cat-file", "ls-tree", "rev-list", "pack-objects", "index-pack", "show-index", "update-ref"})
"""Commands that wait for nobody: one that sleeps stands before a FIFO where an object or a setting is to be."""
_SEES = frozenset(
    {
        "ls-files",
        "check-ignore",
        "check-attr",
        "update-index",
        "checkout-index",
        "read-tree",
        "diff-files",
        "diff-index",
    }
)
"""Commands that look at the workspace. All others may take as long as they like."""


class GitFailed(ProctorError):
    """A plumbing command said no; `str()` is its first line of complaint."""


class Trapped(Exception):
    """Special files that stand where git reads rules, so that it waits for ever; `paths` are absolute."""

    def __init__(self, paths: Sequence[bytes]) -> None:
        super().__init__(repr(paths))
        self.paths = tuple(paths)


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


class Command:
    """One running git command. What it prints goes to memory, so that several may run side by side unread."""

    def __init__(self, git: Git, verb: str, process: subprocess.Popen[bytes], out: BinaryIO, err: BinaryIO) -> None:
        self._git = git
        self._verb = verb
        self._process = process
        self._out = out
        self._err = err

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.end()
            self._process.wait()
        self._out.close()
        self._err.close()

    def output(self, ok: Sequence[int] = (0,)) -> bytes:
        """Wait for the end and return what was printed; raises as `Git.run` does."""
        self._wait()
        if self._process.returncode in ok:
            return _all_of(self._out)
        raise self._fault(_all_of(self._err))

    def read(self, size: int) -> bytes:
        """The next bytes of what it prints into a pipe; raises as `Git.run` does if it ends before."""
        if len(found := self._out.read(size)) < size:
            self._wait()
            raise self._fault(_all_of(self._err))
        return found

    def line(self) -> bytes:
        """The same to the end of the line."""
        found = self._out.readline()
        return found if found.endswith(b"\n") else found + self.read(1)

    def end(self) -> None:
        """Have it end now, and what it started with it."""
        if self._process.poll() is None:
            if os.getpgid(self._process.pid) == self._process.pid:
                os.killpg(self._process.pid, signal.SIGTERM)
            else:
                self._process.terminate()  # git takes its lock files with it

    def bound(self, seconds: int) -> None:
        """Have it end once it has used so many seconds of processor time."""
        with contextlib.suppress(OSError):
            resource.prlimit(self._process.pid, resource.RLIMIT_CPU, (seconds, seconds))

    def be_last(self) -> None:
        """Let everything else on the machine go first."""
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, 19)

    def _wait(self) -> None:
        ended = os.pidfd_open(self._process.pid)
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        idle = ""
        try:
            while not poll.poll(_TRAP_CHECK * 1000):
                if self._verb in _SEES and (traps := self._git.traps()):
                    raise Trapped(traps)
                before, idle = idle, _sleeping(self._process.pid) if self._verb in _READS else ""
                if idle and idle == before:
                    self.end()
                    raise GitFailed(f"git {self._verb}: it waits for a file that is none, such as a FIFO")
        finally:
            os.close(ended)
        self._process.wait()

    def _fault(self, err: bytes) -> ProctorError:
        lines = [safe_line(line, 300) for line in err.splitlines() if line.strip()]
        said = next((line for line in lines if line.startswith(("error:", "fatal:"))), lines[0] if lines else "")
        if _FULL_WORDS.search(err):
            return Unrecoverable(f"{self._git.gitdir.parent}: {said}; free or allow it, then run again", "disk")
        said = said or f"ended with {self._process.returncode}"
        return GitFailed(f"git {self._verb} in {self._git.gitdir}: {said}")


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
        return Command(self, verb, process, out or cast(BinaryIO, process.stdout), err)

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


def _all_of(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


def _sleeping(pid: int) -> str:
    """The time that a process has used, if all of it sleeps; else ""."""
    try:
        tasks = [Path(f"/proc/{pid}/task", name, "stat").read_text() for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return ""
    fields = [task.rpartition(")")[2].split() for task in tasks]
    return repr([one[11:13] for one in fields]) if all(one[0] == "S" for one in fields) else ""


def _is_special(path: bytes) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return (mode & 0o170000) not in (0o100000, 0o120000, 0o040000)


def _process_umask() -> int:
    with open("/proc/self/status", "rb") as status:
        return int(next(line for line in status if line.startswith(b"Umask:")).split()[1], 8)
