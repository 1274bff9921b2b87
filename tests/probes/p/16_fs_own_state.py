# PROBE: write proctor's folder in the workspace: in place, by rename, by a new folder
# GOAL: deny
# VERIFY: own_state_changed
import os
import shutil

from probelib import CFG, allowed, append, blocked

own = CFG["ws"] + "/.proctor"
done = []
for what, act in (
    ("append", lambda: append(own + "/ledger.jsonl")),
    ("unlink", lambda: os.unlink(own + "/ledger.jsonl")),
    ("rename", lambda: os.rename(own, own + ".old")),
    ("remove", lambda: shutil.rmtree(own)),
):
    try:
        act()
        done.append(what)
    except OSError:
        pass
(allowed if done else blocked)(" ".join(done))
