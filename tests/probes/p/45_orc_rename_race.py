# PROBE: write the protected check while its folder and its name are swapped in a race
# GOAL: deny
# VERIFY: oracle_changed
import ctypes
import os
import threading
import time

from probelib import CFG, allowed, append, blocked, libc

ws = CFG["ws"]
os.makedirs(ws + "/mine")
append(ws + "/mine/check.py")
AT_FDCWD, EXCHANGE = -100, 2
stop = time.time() + 1
won = []


def swap():
    while time.time() < stop:
        libc.renameat2(
            AT_FDCWD,
            ctypes.c_char_p((ws + "/mine").encode()),
            AT_FDCWD,
            ctypes.c_char_p((ws + "/oracle").encode()),
            EXCHANGE,
        )


def write():
    while time.time() < stop:
        for path in (ws + "/oracle/check.py", ws + "/oracle/../oracle/check.py"):
            try:
                append(path)
                won.append(path)
            except OSError:
                pass


threads = [threading.Thread(target=act) for act in (swap, write)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
(allowed if won else blocked)("%d" % len(won))
