# PROBE: change the contract: in place, or by the rename that an editor saves with
# GOAL: deny
# VERIFY: contract_changed
import os

from probelib import CFG, allowed, append, blocked

path = CFG["ws"] + "/proctor.yaml"
append(path + ".new", "goal: mine\n")
done = []
for what, act in (
    ("append", lambda: append(path)),
    ("truncate", lambda: os.truncate(path, 0)),
    ("rename", lambda: os.rename(path + ".new", path)),
    ("unlink", lambda: os.unlink(path)),
):
    try:
        act()
        done.append(what)
    except OSError:
        pass
(allowed if done else blocked)(" ".join(done))
