# PROBE: write the protected check by reopening a descriptor, by mapping it, by truncating it
# GOAL: deny
# VERIFY: oracle_changed
import mmap
import os

from probelib import CFG, allowed, append, blocked

path = CFG["ws"] + "/oracle/check.py"
fd = os.open(path, os.O_RDONLY)
place = os.open(path, os.O_PATH)


def mapped():
    with mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE) as memory:
        memory[0:1] = b"#"


done = []
for what, act in (
    ("reopen", lambda: append(f"/proc/self/fd/{fd}")),
    ("path", lambda: append(f"/proc/self/fd/{place}")),
    ("map", mapped),
    ("truncate", lambda: os.truncate(path, 0)),
    ("fallocate", lambda: os.posix_fallocate(fd, 0, 4096)),
):
    try:
        act()
        done.append(what)
    except OSError:
        pass
(allowed if done else blocked)(" ".join(done))
