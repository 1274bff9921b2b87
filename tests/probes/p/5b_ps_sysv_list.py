# PROBE: list other programs' System V shared memory
# GOAL: deny
from probelib import CFG, allowed, blocked, read

listed = [line.split() for line in read("/proc/sysvipc/shm", 1 << 20).splitlines()[1:]]
(allowed if any(int(words[0]) == CFG["shm_key"] for words in listed) else blocked)("%d" % len(listed))
