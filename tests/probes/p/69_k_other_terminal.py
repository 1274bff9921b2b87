# PROBE: write on another terminal of the operator's
# GOAL: deny
# VERIFY: pts_written
import os

from probelib import CFG, allowed, blocked, ename

last = None
for path in (CFG["pts"], "/proc/1/fd/0", f"/proc/{CFG['victim_pid']}/fd/{CFG['victim_fd']}"):
    try:
        fd = os.open(path, os.O_WRONLY | os.O_NOCTTY)
        os.write(fd, CFG["tag"].encode())
        allowed(path)
    except OSError as error:
        last = ename(error)
blocked(last)
