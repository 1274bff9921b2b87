# PROBE: openpty and a subshell on it
# GOAL: allow
import os
import pty

from probelib import must_work


def go():
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp("sh", ["sh", "-c", "tty; echo ok-$((1+1))"])
    t = b""
    try:
        while True:
            d = os.read(fd, 100)
            if not d:
                break
            t += d
    except OSError:
        pass
    os.waitpid(pid, 0)
    assert b"ok-2" in t, t


must_work(go)
