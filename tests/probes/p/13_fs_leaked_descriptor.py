# PROBE: use a descriptor that the launcher's parent left open
# GOAL: deny
# VERIFY: outside_changed
# LEAKFD: 1
import os

from probelib import allowed, blocked

used = []
for name in os.listdir("/proc/self/fd"):
    if int(name) < 3:
        continue
    try:
        fd = os.open("target.txt", os.O_WRONLY | os.O_APPEND, dir_fd=int(name))
        os.write(fd, b"SBX_TAMPER\n")
        used.append(name)
    except OSError:
        pass
(allowed if used else blocked)(" ".join(used))
