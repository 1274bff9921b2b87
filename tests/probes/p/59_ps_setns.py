# PROBE: enter namespaces of a host process
# GOAL: deny
import os

from probelib import CFG, allowed, blocked, ename

last = "nothing there"
seen = []
for name in ("user", "net", "mnt", "pid", "ipc", "uts", "cgroup"):
    for pid in (CFG["victim_pid"], os.getppid(), 1):
        try:
            theirs = os.readlink(f"/proc/{pid}/ns/{name}")
            if pid == CFG["victim_pid"] and theirs:
                seen.append(name)
        except OSError as error:
            last = ename(error)
(allowed if seen else blocked)(" ".join(seen) or last)
