# PROBE: raise a System V semaphore of another program
# GOAL: deny
# VERIFY: semaphore_raised
import ctypes

from probelib import CFG, allowed, blocked, ename, libc

number = libc.semget(CFG["sem_key"], 0, 0)
if number < 0:
    blocked(ename(ctypes.get_errno()))
libc.semop(number, (ctypes.c_short * 3)(0, 1, 0), 1)
allowed()
