# PROBE: make a device node, or a program with somebody else's rights, in the workspace
# GOAL: deny
# CONTROL: root
import os
import stat

from probelib import CFG, allowed, blocked

made = []
try:
    os.mknod(CFG["ws"] + "/disk", 0o600 | stat.S_IFBLK, os.makedev(254, 0))
    made.append("device")
except OSError:
    pass
try:
    os.setxattr(
        CFG["ws"] + "/src/app.py", "security.capability", bytes.fromhex("0100000202000000000000000000000000000000")
    )
    made.append("capability")
except OSError:
    pass
try:
    os.chown(CFG["ws"] + "/src/app.py", 12345, 12345)
    made.append("owner")
except OSError:
    pass
(allowed if made else blocked)(" ".join(made))
