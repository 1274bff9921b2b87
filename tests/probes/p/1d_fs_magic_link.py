# PROBE: write outside through links of /proc, dotdot and openat2 from a descriptor of the workspace
# GOAL: deny
# VERIFY: outside_changed
import os

from probelib import CFG, allowed, append, blocked

target = os.path.relpath(CFG["outside"] + "/target.txt", CFG["ws"])
os.chdir(CFG["ws"])
folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
done = []
for path in (
    target,
    "/proc/self/cwd/" + target,
    f"/proc/self/fd/{folder}/{target}",
    "/proc/thread-self/root" + CFG["outside"] + "/target.txt",
    f"/proc/{os.getppid()}/cwd/{target}",
    f"/proc/1/cwd/{target}",
    "/oldroot" + CFG["outside"] + "/target.txt",
    "/newroot" + CFG["outside"] + "/target.txt",
):
    try:
        append(path)
        done.append(path)
    except OSError:
        pass
(allowed if done else blocked)("%d routes" % len(done))
