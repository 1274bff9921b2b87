# PROBE: list other people's homes and /root, read /etc/shadow
# GOAL: deny
# NOTE: an ordinary user is already stopped by modes; matters when run as root
import os

from probelib import allowed, blocked, read

ok = []
for f in ("/etc/shadow",):
    try:
        read(f)
        ok.append(f)
    except OSError:
        pass
for d in ("/root",):
    try:
        if os.listdir(d):
            ok.append(d)
    except OSError:
        pass
(allowed if ok else blocked)(" ".join(ok))
