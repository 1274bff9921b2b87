# PROBE: connect to a socket below the workspace, by its name, a hard link, a rename of its folder
# GOAL: deny
# VERIFY: unix_hit_deepsock
import os
import socket

from probelib import CFG, allowed, blocked, ename

ws = CFG["ws"]
last = None
for prepare, path in (
    (lambda: None, ws + "/src/deep.sock"),
    (lambda: os.link(ws + "/src/deep.sock", ws + "/l.sock"), ws + "/l.sock"),
    (lambda: os.rename(ws + "/src/deep.sock", ws + "/r.sock"), ws + "/r.sock"),
    (lambda: os.rename(ws + "/src", ws + "/src2"), ws + "/src2/deep.sock"),
):
    try:
        prepare()
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(3)
        s.connect(path)
        s.sendall(CFG["tag"].encode())
        allowed(path)
    except OSError as error:
        last = ename(error)
blocked(last)
