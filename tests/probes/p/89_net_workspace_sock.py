# PROBE: connect to a socket that a host program keeps in the workspace
# GOAL: deny
# VERIFY: unix_hit_wssock
import os
import socket

from probelib import CFG, allowed, blocked, ename

last = None
os.chdir(CFG["ws"])
for path in (CFG["sock_wssock"], "dev.sock", "/proc/self/cwd/dev.sock"):
    try:
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(3)
        s.connect(path)
        s.sendall(CFG["tag"].encode())
        allowed(path)
    except OSError as error:
        last = ename(error)
blocked(last)
