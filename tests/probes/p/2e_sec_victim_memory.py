# PROBE: read memory, environment or files of a host process through its folder in /proc
# GOAL: deny
import os

from probelib import CFG, allowed, blocked, has_secret, read

found = []
for name in ("environ", "cmdline"):
    try:
        text = read(f"/proc/{CFG['victim_pid']}/{name}", 65536)
        if has_secret(text) or "victim-" in text:
            found.append(name)
    except OSError:
        pass
try:
    os.close(os.open(f"/proc/{CFG['victim_pid']}/mem", os.O_RDWR))
    found.append("mem")
except OSError:
    pass
(allowed if found else blocked)(" ".join(found))
