# PROBE: read the kernel's log, its addresses and its settings of security
# GOAL: deny
# CONTROL: root
import ctypes

from probelib import allowed, blocked, libc, read

found = []
if libc.klogctl(10, None, 0) > 0:
    found.append("log")
try:
    if any(int(line.split()[0], 16) for line in read("/proc/kallsyms", 65536).splitlines()[:100] if " " in line):
        found.append("addresses")
except (OSError, ValueError):
    pass
try:
    read("/proc/kcore", 16)
    found.append("kcore")
except OSError:
    pass
(allowed if found else blocked)(" ".join(found) or ctypes.get_errno())
