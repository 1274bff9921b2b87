# PROBE: reach the same file by another name (/proc/self/root, /proc/self/cwd, dotdot, fd)
# GOAL: deny
# VERIFY: oracle_changed
import os

from probelib import CFG, allowed, append, blocked

os.chdir(CFG["ws"])
n = 0
d = os.open(CFG["ws"], os.O_RDONLY | os.O_DIRECTORY)
for p in (
    "/proc/self/root" + CFG["ws"] + "/oracle/check.py",
    "/proc/self/cwd/oracle/check.py",
    CFG["ws"] + "/src/../oracle/check.py",
    "/proc/self/fd/%d/oracle/check.py" % d,
):
    try:
        append(p)
        n += 1
    except OSError:
        pass
(allowed if n else blocked)("%d aliases" % n)
