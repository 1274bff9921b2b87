# PROBE: find the key in /proc/*/environ or /proc/*/cmdline of any other process
# GOAL: deny
import os

from probelib import allowed, blocked, has_secret, read

hit = set()
me = str(os.getpid())
for p in os.listdir("/proc"):
    if not p.isdigit() or p == me:
        continue
    for f in ("environ", "cmdline"):
        try:
            if has_secret(read(f"/proc/{p}/{f}", 65536)):
                hit.add(f"{p}/{f}")
        except OSError:
            pass
(allowed if hit else blocked)("%d hits" % len(hit))
