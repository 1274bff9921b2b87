# PROBE: see host processes in /proc
# GOAL: deny
import os

from probelib import CFG, allowed, blocked, read

hit = 0
for p in os.listdir("/proc"):
    if p.isdigit():
        try:
            if CFG["tag"] in read(f"/proc/{p}/cmdline", 8192) and "victim" in read(f"/proc/{p}/cmdline", 8192):
                hit += 1
        except OSError:
            pass
(allowed if hit else blocked)("%d" % hit)
