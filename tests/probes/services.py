"""What runs on the host while a probe does: services on loopback and on sockets, a process, shared memory, a terminal.

Each notes when a probe reached it: the host's own word on whether something got out.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import glob
import os
import pty
import select
import shutil
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Callable

from probes.fixture import Config, put

VICTIM = """\
import signal, sys, time
def told(*_): open(sys.argv[2], "w").write("x")
for number in (signal.SIGUSR1, signal.SIGTERM): signal.signal(number, told)
print("ready", flush=True)
end = time.time() + 60
while time.time() < end: time.sleep(1)
"""
IPC_CREAT = 0o1000
SECRET_TYPE = 7
KEYCTL_SEARCH, KEYCTL_JOIN = 10, 1
SESSION_KEYRING = -3
# fmt: off
CALLS = {  # x86_64, others
    "add_key": (248, 217), "keyctl": (250, 219), "mq_open": (240, 180), "mq_unlink": (241, 181),
    "mq_timedsend": (242, 182),
}
# fmt: on

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
libc.shmat.restype = ctypes.c_void_p


def call(name: str, *arguments: int | bytes) -> int:
    """A system call by its name."""
    number = CALLS[name][os.uname().machine != "x86_64"]
    words = [ctypes.c_char_p(word) if isinstance(word, bytes) else ctypes.c_long(word) for word in arguments]
    return int(libc.syscall(ctypes.c_long(number), *words))


def own_keyring() -> None:
    """A session keyring of this run: what is put there is nobody else's."""
    call("keyctl", KEYCTL_JOIN, 0)


def add_key(name: str, secret: str) -> bool:
    return call("add_key", b"user", name.encode(), secret.encode(), len(secret), SESSION_KEYRING) >= 0


def has_key(name: str) -> bool:
    return call("keyctl", KEYCTL_SEARCH, SESSION_KEYRING, b"user", name.encode(), 0) >= 0


class Services:
    """Up from its making to `stop`. `hits` are the names of those that a probe reached."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.hits: set[str] = set()
        self._sockets: list[socket.socket] = []
        self._tag = config["tag"].encode()
        try:
            self._network()
            self._unix()
            self._memory()
            self._terminal()
            self._process()
        except BaseException:
            self.stop()
            raise

    def _network(self) -> None:
        c = self.config
        c["tcp_port"] = self._stream("tcp", socket.AF_INET, ("127.0.0.1", 0))
        try:
            c["tcp6_port"] = self._stream("tcp6", socket.AF_INET6, ("::1", 0))
        except OSError:
            c["tcp6_port"] = 0
        c["udp_port"], c["dns_port"] = self._datagram("udp"), self._datagram("dns")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            c["inbound_port"] = free.getsockname()[1]

    def _unix(self) -> None:
        c = self.config
        c["abstract"] = f"{c['tag']}-abs"
        self._stream("abstract", socket.AF_UNIX, f"\0{c['abstract']}")
        self._agent = f"/tmp/ssh-{c['tag']}"
        os.makedirs(self._agent, 0o700)
        places = {
            "docker": f"{c['runtime_dir']}/docker.sock",
            "bus": f"{c['runtime_dir']}/bus",
            "wayland": f"{c['runtime_dir']}/wayland-0",
            "agent": f"{self._agent}/agent.1",
            "homesock": f"{c['home']}/.gnupg/S.gpg-agent",
            "wssock": f"{c['ws']}/dev.sock",
            "deepsock": f"{c['ws']}/src/deep.sock",
        }
        for name, path in places.items():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            self._stream(name, socket.AF_UNIX, path)
            c[f"sock_{name}"] = path
        os.makedirs(f"{c['root']}/gw", exist_ok=True)
        c["gateway_host_sock"] = f"{c['root']}/gw/w1.sock"
        self._stream(
            "gateway", socket.AF_UNIX, c["gateway_host_sock"], b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\npong"
        )
        self.gateway = os.stat(c["gateway_host_sock"]).st_ino

    def _memory(self) -> None:
        c = self.config
        secret = c["secret"].encode()
        put(f"/dev/shm/{c['tag']}_host", f"shm {c['secret']}", 0o600)
        key = 0x5B000000 | (int(c["tag"][3:], 16) & 0xFFFFFF)
        c["shm_key"] = c["msg_key"] = c["sem_key"] = key
        self._segment = libc.shmget(key, 4096, IPC_CREAT | 0o600)
        place = libc.shmat(self._segment, None, 0)
        ctypes.memmove(place, secret + b"\0", len(secret) + 1)
        libc.shmdt(ctypes.c_void_p(place))
        self._queue = libc.msgget(key, IPC_CREAT | 0o600)
        libc.msgsnd(self._queue, _message(secret), len(secret), 0)
        self._semaphore = libc.semget(key, 1, IPC_CREAT | 0o600)
        c["mq_name"] = f"{c['tag']}mq"
        self._mq = call("mq_open", c["mq_name"].encode(), os.O_RDWR | os.O_CREAT, 0o600, 0)
        if self._mq >= 0:
            call("mq_timedsend", self._mq, secret, len(secret), 0, 0)

    def _terminal(self) -> None:
        """A terminal of the operator's beside the one that proctor was started on."""
        self._master, slave = pty.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        self.config["pts"] = os.ttyname(slave)
        self._slave = slave
        fcntl.fcntl(self._master, fcntl.F_SETFL, os.O_NONBLOCK)

    def _process(self) -> None:
        c = self.config
        self.signalled = f"{c['root']}/victim_signalled"
        self._victim = subprocess.Popen(
            [sys.executable, "-S", "-c", VICTIM, f"victim-{c['tag']}", self.signalled],
            env={"SBX_KEY": c["secret"]},
            stdout=subprocess.PIPE,
            pass_fds=(self._slave,),
            start_new_session=True,
        )
        assert self._victim.stdout
        self._victim.stdout.readline()
        c["victim_pid"], c["victim_fd"] = self._victim.pid, self._slave

    def wrote_on_terminal(self) -> bool:
        """Whether the tag came out on the operator's other terminal."""
        with contextlib.suppress(BlockingIOError):
            return self._tag in os.read(self._master, 65536)
        return False

    def semaphore(self) -> int:
        """The value of the host's semaphore: 0 until somebody raises it."""
        return int(libc.semctl(self._semaphore, 0, 12))

    def niceness(self) -> int:
        return os.getpriority(os.PRIO_PROCESS, self._victim.pid)

    def alive(self) -> bool:
        return self._victim.poll() is None

    def _stream(self, name: str, family: int, address: object, answer: bytes = b"") -> int:
        server = socket.socket(family)
        self._sockets.append(server)
        server.bind(address)  # type: ignore[arg-type]
        server.listen(64)

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection, contextlib.suppress(OSError):
                    connection.settimeout(2)
                    if self._tag in connection.recv(4096):
                        self.hits.add(name)
                    connection.sendall(answer)

        return self._begin(serve, server)

    def _datagram(self, name: str) -> int:
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sockets.append(server)
        server.bind(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                try:
                    said = server.recv(4096)
                except OSError:
                    return
                if self._tag in said:
                    self.hits.add(name)
                elif not said:
                    return

        return self._begin(serve, server)

    def _begin(self, serve: Callable[[], None], server: socket.socket) -> int:
        threading.Thread(target=serve, daemon=True).start()
        return int(server.getsockname()[1]) if server.family in (socket.AF_INET, socket.AF_INET6) else 0

    def dial(self, port: int, seconds: float = 4) -> None:
        """Tries from the host, in a thread, to reach a listener that a probe opened."""

        def go() -> None:
            poll = select.poll()
            for _ in range(int(seconds / 0.1)):
                try:
                    with socket.create_connection(("127.0.0.1", port), 1) as connection:
                        if self._tag in connection.recv(100):
                            self.hits.add("inbound")
                        return
                except OSError:
                    poll.poll(100)

        threading.Thread(target=go, daemon=True).start()

    def stop(self) -> None:
        for server in self._sockets:
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            server.close()
        if hasattr(self, "_victim"):
            self._victim.kill()
            self._victim.wait()
            assert self._victim.stdout
            self._victim.stdout.close()
        for fd in (getattr(self, "_master", None), getattr(self, "_slave", None)):
            if fd is not None:
                os.close(fd)
        if hasattr(self, "_segment"):
            libc.shmctl(self._segment, 0, None)
            libc.msgctl(self._queue, 0, None)
            libc.semctl(self._semaphore, 0, 0)
        if getattr(self, "_mq", -1) >= 0:
            os.close(self._mq)
            call("mq_unlink", self.config["mq_name"].encode())
        for folder in ("/dev/shm", "/tmp", "/var/tmp"):
            for path in glob.glob(f"{folder}/{self.config['tag']}*"):
                subprocess.run(["rm", "-rf", path], check=False)
        shutil.rmtree(getattr(self, "_agent", ""), ignore_errors=True)


def _message(text: bytes) -> bytes:
    """A System V message: its type, then the text."""
    return SECRET_TYPE.to_bytes(ctypes.sizeof(ctypes.c_long), sys.byteorder) + text
