# PROBE: rename the gateway's socket or its folder away and put another there
# GOAL: deny
# VERIFY: gateway_replaced
import os

from probelib import CFG, allowed, blocked

done = []
path = CFG["gateway_sock"]
for what, act in (
    ("socket", lambda: (os.rename(path, path + ".old"), open(path, "w").close())),
    (
        "folder",
        lambda: (os.rename(os.path.dirname(path), os.path.dirname(path) + ".old"), os.mkdir(os.path.dirname(path))),
    ),
):
    try:
        act()
        done.append(what)
    except OSError:
        pass
(allowed if done else blocked)(" ".join(done))
