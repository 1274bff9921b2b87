# PROBE: leave a program in the workspace that runs with its owner's rights for whoever starts it
# GOAL: deny
# VERIFY: setuid_left
import os

from probelib import CFG, allowed, append, blocked, sysc

made = []
for name, act in (
    ("chmod", lambda path: os.chmod(path, 0o4755)),
    ("fchmod", lambda path: os.fchmod(os.open(path, os.O_RDONLY), 0o2755)),
    ("create", lambda path: os.open(path + ".new", os.O_CREAT | os.O_WRONLY, 0o4755)),
    ("fchmodat2", lambda path: sysc("fchmodat2", -100, os.fsencode(path), 0o4755, 0)),
):
    path = f"{CFG['ws']}/suid-{name}"
    append(path)
    try:
        act(path)
    except OSError:
        pass
    made += [p for p in (path, path + ".new") if os.path.exists(p) and os.stat(p).st_mode & 0o6000]
(allowed if made else blocked)(" ".join(os.path.basename(path) for path in made))
