# PROBE: write outside through /proc/*/root and /proc/*/cwd of any visible process
# GOAL: deny
# VERIFY: outside_changed
import os

from probelib import CFG, allowed, append, blocked

n = 0
for p in [d for d in os.listdir("/proc") if d.isdigit()] + ["self"]:
    for how in ("root" + CFG["outside"] + "/target.txt",):
        try:
            append(f"/proc/{p}/{how}")
            n += 1
        except OSError:
            pass
(allowed if n else blocked)("%d routes" % n)
