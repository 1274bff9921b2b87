# PROBE: read what the contract hides: by name, alias, hard link, rename
# GOAL: deny
import os

from probelib import CFG, allowed, blocked, has_secret, read

hidden = CFG["ws"] + "/answers"
found = []
for how, act in (
    ("name", lambda: read(hidden + "/key")),
    ("alias", lambda: read("/proc/self/root" + hidden + "/key")),
    ("list", lambda: CFG["secret"] if os.listdir(hidden) else ""),
    ("link", lambda: (os.link(hidden + "/key", CFG["ws"] + "/k"), read(CFG["ws"] + "/k"))[1]),
    ("rename", lambda: (os.rename(hidden, CFG["ws"] + "/a2"), read(CFG["ws"] + "/a2/key"))[1]),
):
    try:
        if has_secret(act()):
            found.append(how)
    except OSError:
        pass
(allowed if found else blocked)(" ".join(found))
