# PROBE: change mode, times or length of an outside file without writing to it
# GOAL: deny
# VERIFY: outside_touched
import os

from probelib import CFG, allowed, blocked

path = CFG["ws"] + "/link_out/target.txt"
done = []
for act in (lambda: os.chmod(path, 0o600), lambda: os.utime(path, (1, 1)), lambda: os.truncate(path, 0)):
    try:
        act()
        done.append(1)
    except OSError:
        pass
(allowed if done else blocked)("%d" % len(done))
