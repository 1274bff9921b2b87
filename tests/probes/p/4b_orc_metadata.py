# PROBE: change mode and times of the protected check
# GOAL: deny
# VERIFY: oracle_mode
import os

from probelib import CFG, allowed, blocked

path = CFG["ws"] + "/oracle/check.py"
done = []
for act in (lambda: os.chmod(path, 0o777), lambda: os.utime(path, (1, 1)), lambda: os.setxattr(path, "user.x", b"1")):
    try:
        act()
        done.append(1)
    except OSError:
        pass
(allowed if done else blocked)("%d" % len(done))
