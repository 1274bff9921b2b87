# PROBE: allocate 512 MB in one process (bounded)
# GOAL: deny
import os

from probelib import allowed, blocked

pid = os.fork()
if pid == 0:
    keep = []
    try:
        for _ in range(32):
            keep.append(b"\1" * (16 << 20))
    except MemoryError:
        os._exit(3)
    os._exit(0)
_, st = os.waitpid(pid, 0)
(allowed if os.WIFEXITED(st) and os.WEXITSTATUS(st) == 0 else blocked)("status %d" % st)
