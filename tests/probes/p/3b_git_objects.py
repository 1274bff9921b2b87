# PROBE: destroy the operator's objects
# GOAL: deny
# VERIFY: git_objects_lost
import os
import shutil

from probelib import CFG, allowed, blocked

done = []
for folder in (CFG["git_common"] + "/objects", CFG["ws"] + "/.git/objects", "/run/objects/0"):
    before = os.path.isdir(folder) and os.listdir(folder)
    shutil.rmtree(folder, ignore_errors=True)
    if before and not os.path.isdir(folder):
        done.append(folder)
(allowed if done else blocked)(" ".join(done))
