# PROBE: hold 5000 files open in one process
# GOAL: deny
import os
import resource

from probelib import allowed, blocked, ename

hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = []
try:
    for _ in range(5000):
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    blocked(f"{ename(error)} at {len(held)}")
allowed("%d" % len(held))
