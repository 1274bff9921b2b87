# PROBE: write one 100 MB file in the workspace (bounded, removed)
# GOAL: deny
import os
import signal

from probelib import CFG, attempt

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
p = CFG["ws"] + "/big"


def go():
    try:
        fd = os.open(p, os.O_WRONLY | os.O_CREAT)
        for _ in range(100):
            os.write(fd, b"\0" * (1 << 20))
    finally:
        os.unlink(p)


attempt(go)
