# PROBE: start 200 processes (bounded; a limit below 200 must stop it)
# GOAL: deny
import os
import signal
import time

from probelib import allowed, blocked

kids, err = [], None
for _ in range(200):
    try:
        pid = os.fork()
    except OSError as e:
        err = e
        break
    if pid == 0:
        time.sleep(4)
        os._exit(0)
    kids.append(pid)
for k in kids:
    try:
        os.kill(k, signal.SIGKILL)
        os.waitpid(k, 0)
    except OSError:
        pass
(blocked if err else allowed)("%d children" % len(kids))
