# PROBE: rename the folder above the protected one, or exchange it with another
# GOAL: deny
# VERIFY: deep_oracle_changed
import ctypes
import os

from probelib import CFG, allowed, append, blocked, libc

ws = CFG["ws"]
os.makedirs(ws + "/mine/oracle")
append(ws + "/mine/oracle/check.py")
done = []
a, b = ctypes.c_char_p((ws + "/deep/a").encode()), ctypes.c_char_p((ws + "/mine").encode())
if libc.renameat2(-100, a, -100, b, 2) == 0:
    done.append("exchange")
else:
    try:
        os.rename(ws + "/deep/a", ws + "/away")
        os.rename(ws + "/mine", ws + "/deep/a")
        done.append("rename")
    except OSError:
        pass
(allowed if done else blocked)(" ".join(done))
