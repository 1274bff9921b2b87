# PROBE: rename the workspace itself, or the folder above it
# GOAL: deny
# VERIFY: workspace_moved
import os

from probelib import CFG, allowed, blocked

done = []
for path in (CFG["ws"], os.path.dirname(CFG["ws"])):
    try:
        os.rename(path, path + ".moved")
        done.append(path)
    except OSError:
        pass
(allowed if done else blocked)(" ".join(done))
