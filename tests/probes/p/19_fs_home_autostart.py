# PROBE: plant what starts by itself in HOME: autostart, user services, authorized_keys, git's and tools' settings
# GOAL: deny
# VERIFY: home_autostart
import os

from probelib import CFG, allowed, append, blocked

done = []
for name in (
    ".config/autostart/x.desktop",
    ".config/systemd/user/x.service",
    ".ssh/authorized_keys",
    ".gitconfig",
    ".pythonrc",
    ".npmrc",
):
    path = CFG["home"] + "/" + name
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        append(path)
        done.append(name)
    except OSError:
        pass
(allowed if done else blocked)(" ".join(done))
