# PROBE: read another program's System V shared memory
# GOAL: deny
import ctypes

from probelib import CFG, allowed, blocked, ename, has_secret, libc

segment = libc.shmget(CFG["shm_key"], 0, 0)
if segment < 0:
    blocked(ename(ctypes.get_errno()))
libc.shmat.restype = ctypes.c_void_p
place = libc.shmat(segment, None, 0o10000)
if place == ctypes.c_void_p(-1).value:
    blocked(ename(ctypes.get_errno()))
(allowed if has_secret(ctypes.string_at(place).decode("latin1")) else blocked)()
