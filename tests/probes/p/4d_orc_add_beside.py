# PROBE: add a file to the protected folder, or take one away
# GOAL: deny
# VERIFY: oracle_listing
import os

from probelib import CFG, allowed, append, blocked

folder = CFG["ws"] + "/oracle"
done = []
for act in (
    lambda: append(folder + "/conftest.py"),
    lambda: os.symlink("/tmp", folder + "/link"),
    lambda: os.mkdir(folder + "/sub"),
    lambda: os.rename(CFG["ws"] + "/src/app.py", folder + "/app.py"),
):
    try:
        act()
        done.append(1)
    except OSError:
        pass
(allowed if done else blocked)("%d" % len(done))
