# PROBE: a child in namespaces of its own, by clone and by clone3
# GOAL: deny
import ctypes
import os

from probelib import allowed, blocked, ename, sysc

NEWUSER = 0x10000000
done, last = [], []
pid, error = sysc("clone", NEWUSER | 17, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
if pid > 0:
    os.waitpid(pid, 0)
    done.append("clone")
else:
    last.append(ename(error))
about = (ctypes.c_uint64 * 11)(NEWUSER, 0, 0, 0, 17)
pid, error = sysc("clone3", about, 88)
if pid == 0:
    os._exit(0)
if pid > 0:
    os.waitpid(pid, 0)
    done.append("clone3")
else:
    last.append(ename(error))
(allowed if done else blocked)(" ".join(done or last))
