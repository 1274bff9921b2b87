# PROBE: connect to the display's socket in XDG_RUNTIME_DIR
# GOAL: deny
# VERIFY: unix_hit_wayland
import socket

from probelib import CFG, attempt


def go():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(3)
    s.connect(CFG["sock_wayland"])
    s.sendall(CFG["tag"].encode())


attempt(go)
