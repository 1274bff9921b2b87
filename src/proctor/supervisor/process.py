"""Who may act: the workspace lock, the identity of processes, and the detached start."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Self

import msgspec

from proctor.checkpoint import identity
from proctor.errors import Unrecoverable, UsageError
from proctor.trees import file_system

STATE_FOLDER = ".proctor"
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "9p", "ceph", "glusterfs", "fuse.sshfs", "fuse.s3fs", "lustre"}
)
"""SQLite in WAL mode and flock need one machine's memory: these are refused."""

PR_SET_DUMPABLE = 4


class Holder(msgspec.Struct, frozen=True):
    """A process, named so that a reused pid is not taken for it. `started` in clock ticks since boot."""

    pid: int
    boot: str
    started: int
    token: int = 0


def boot_id() -> str:
    """This boot's id; empty where the kernel has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def start_time(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None if there is no such (or only a dead) process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def alive(pid: int, boot: str, started: int) -> bool:
    """Whether exactly that process lives: same boot, same pid, same start."""
    return boot == boot_id() and start_time(pid) == started


def state_home() -> Path:
    """Where proctor keeps what belongs to no single workspace."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "proctor"


def external_state_dir(workspace: Path) -> Path:
    """The state folder of a session whose worker could write `.proctor` (sandbox kind `weak`)."""
    return state_home() / hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]


def state_dir_of(workspace: Path, *, outside: bool | None = None) -> Path:
    """The session's state folder; `outside` chooses, None finds the one in use."""
    external = external_state_dir(workspace)
    if outside is None:
        outside = (external / "journal.db").exists()
    return external if outside else workspace / STATE_FOLDER


def follow(workspace: Path) -> None:
    """Let a state folder outside come along with a workspace that was moved: it is found by the folder's own number."""
    place = external_state_dir(workspace)
    if place.exists() or not state_home().is_dir():
        return
    found = os.stat(workspace)
    for folder in state_home().iterdir():
        noted = identity.Bound.load(folder / "checkpoints.git")
        is_it = noted is not None and (noted.device, noted.inode) == (found.st_dev, found.st_ino)
        if noted is not None and is_it and not os.path.exists(noted.path):
            with Lock(folder):
                folder.rename(place)
            return


def check_workspace(workspace: Path) -> None:
    """Refuse a workspace that cannot carry a session, in one line."""
    identity.refuse(workspace)
    if not workspace.is_dir():
        raise UsageError(f"{workspace}: not a folder; name the project's folder")
    follow(workspace)
    state = workspace / STATE_FOLDER
    if state.is_symlink() or (state.exists() and not state.is_dir()):
        raise UsageError(f"{state}: not a folder of its own; move it away")
    if os.access(state, os.R_OK) and (links := [entry.name for entry in os.scandir(state) if entry.is_symlink()]):
        # Whoever brought the workspace would have us write where they lead.
        raise UsageError(f"{state}: {links[0]!r} is a link, and not proctor's; move the folder away")
    if not os.access(workspace, os.W_OK | os.X_OK):
        raise Unrecoverable(f"{workspace}: not writable; check its owner and mode", "workspace")
    kind = file_system(workspace)
    if kind in NETWORK_FILE_SYSTEMS:
        raise UsageError(f"{workspace}: on a network file system ({kind}); copy it to a local disk")


def own_folder(folder: Path) -> None:
    """The state folder: the operator's alone, and ignored by the user's git without a change of his."""
    folder.chmod(0o700)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")


class Lock:
    """The workspace lock: held by one process at a time, let go by the kernel when that process ends."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / "supervisor.lock"
        self._fd: int | None = None

    def acquire(self) -> Self:
        """Take the lock or say who holds it (`UsageError`)."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            holder = self.holder()
            who = f"pid {holder.pid}" if holder else "another process"
            where = self.path.parent.parent
            raise UsageError(f"{where}: {who} holds this workspace; use `proctor attach` or `proctor stop`") from None
        self._fd = fd
        self.name()
        return self

    def name(self, token: int = 0) -> None:
        """Write into the lock who holds it."""
        assert self._fd is not None
        me = os.getpid()
        text = msgspec.json.encode(Holder(me, boot_id(), start_time(me) or 0, token))
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, text, 0)

    def holder(self) -> Holder | None:
        """Who last wrote the lock."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=Holder)
        except (OSError, msgspec.MsgspecError):
            return None

    def release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> Self:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def keep_to_itself() -> None:
    """From here on no core file is made of this process, which knows keys, and no process without privileges can look
    into its memory or its environment."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def start_detached(workspace: Path, arguments: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a supervisor that outlives this terminal: own session, no terminal, its own log."""
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with log.open("ab") as out:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "proctor.supervisor", str(workspace), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            cwd="/",
        )
