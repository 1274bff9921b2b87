# PROBE: unmount the protection (directly, then from a fresh user+mount namespace)
# GOAL: deny
# VERIFY: oracle_changed
import ctypes
import os

from probelib import CFG, allowed, append, blocked, sysc


def tamper():
    sysc("umount2", ctypes.c_char_p((CFG["ws"] + "/oracle").encode()), 2)
    try:
        append(CFG["ws"] + "/oracle/check.py")
        return True
    except OSError:
        return False


if tamper():
    allowed("direct")
uid, gid = os.getuid(), os.getgid()
r, e = sysc("unshare", 0x10000000 | 0x20000)
if r == 0:
    try:
        open("/proc/self/setgroups", "w").write("deny")
        open("/proc/self/uid_map", "w").write("0 %d 1" % uid)
        open("/proc/self/gid_map", "w").write("0 %d 1" % gid)
    except OSError:
        pass
    if tamper():
        allowed("nested userns")
blocked("still read-only")
