"""Runs inside a sandbox as a worker that wants out, and says what came of each attempt: {name: text} as JSON.

Arguments: a JSON object with the `door` folder, the `gateway` as host:port, `connects` and `datagrams` as lists of
[host, port], `names` to look up, and `heads`, requests that are sent to the gateway's port as they are.
"""

import contextlib
import json
import os
import resource
import socket
import subprocess
import sys
import urllib.request

told = json.loads(sys.argv[1])
door = told["door"]
place, port = told["gateway"].split(":")


def attempt(work):
    """What a call returns, or the name of its error."""
    try:
        return str(work())
    except OSError as error:
        return os.strerror(error.errno) if (error.errno or 0) > 0 else type(error).__name__


def connected(host, port, kind=socket.SOCK_STREAM):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, kind) as tried:
        tried.settimeout(3)
        tried.connect((host, port))
        if kind == socket.SOCK_DGRAM:
            tried.send(b"\0\1\1\0\0\1\0\0\0\0\0\0\7example\3org\0\0\1\0\1")
            tried.recv(512)
    return "reached"


def said(connection, head, end=False):
    connection.settimeout(10)
    connection.sendall(head)
    if end:
        connection.shutdown(socket.SHUT_WR)
    got = b""
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(1 << 16):
            got += piece
    return got.decode("latin-1")


def by_loopback(head):
    with socket.create_connection((place, int(port))) as connection:
        return said(connection, head)


def by_door(head):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"{door}/gateway.sock")
        return said(connection, head)


def tunnel(target, sent):
    with socket.create_connection((place, int(port))) as connection:
        return said(connection, f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode() + sent, end=True)


def bound():
    """A server in the gateway's place."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        server.bind((place, int(port)))
        server.listen()


def replaced():
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{door}/another.sock")


def of_processes(part):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/{part}", "rb") as file:
            found.append(file.read(1 << 20).replace(b"\0", b"\n").decode("latin-1"))
    return "\n".join(found)


def crashed():
    """What a child that crashes leaves, with its bound on cores raised as far as it goes."""
    most = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (most, most))
    before = set(os.listdir("."))
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import os; os.abort()"])
    _, status = os.waitpid(child.pid, 0)
    child.returncode = status
    return [os.WTERMSIG(status), os.WCOREDUMP(status), sorted(set(os.listdir(".")) - before)]


GATEWAY = b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
results = {f"connect {h} {p}": attempt(lambda h=h, p=p: connected(h, p)) for h, p in told["connects"]}
results |= {
    f"datagram {h} {p}": attempt(lambda h=h, p=p: connected(h, p, socket.SOCK_DGRAM)) for h, p in told["datagrams"]
}
results |= {f"name {name}": attempt(lambda name=name: socket.getaddrinfo(name, 443)) for name in told["names"]}
results |= {f"head {head}": attempt(lambda head=head: by_loopback(head.encode("latin-1"))) for head in told["heads"]}
for name, work in {
    "unlink": lambda: os.unlink(f"{door}/gateway.sock"),
    "rename": lambda: os.rename(f"{door}/gateway.sock", f"{door}/old.sock"),
    "symlink": lambda: os.symlink("/tmp", f"{door}/link"),
    "make": lambda: open(f"{door}/file", "w").close(),
    "mode": lambda: os.chmod(f"{door}/gateway.sock", 0),
    "replace": replaced,
    "bind": bound,
    "environ": lambda: of_processes("environ"),
    "cmdline": lambda: of_processes("cmdline"),
    "memory": lambda: [attempt(lambda pid=pid: open(f"/proc/{pid}/mem", "rb").close()) for pid in told["pids"]],
    "crash": crashed,
    "door": lambda: by_door(GATEWAY),
    "loopback": lambda: by_loopback(GATEWAY),
    "tunnel": lambda: tunnel("example.org:443", b"through the tunnel"),
    "urllib": lambda: urllib.request.urlopen("http://example.org/", timeout=10).read().decode(),
    "local": lambda: urllib.request.urlopen(f"http://{place}:{port}/v1/models", timeout=10).status,
    "curl": lambda: (
        subprocess.run(
            ["curl", "-sS", "-m", "10", "http://example.org/"], capture_output=True, text=True, check=True
        ).stdout
    ),
}.items():
    results[name] = attempt(work)
print(json.dumps(results))
