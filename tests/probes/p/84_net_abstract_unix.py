# PROBE: connect to an abstract unix socket of the host (X11, old dbus)
# GOAL: deny
# VERIFY: abstract_hit

import socket

from probelib import CFG, attempt


def go():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(3)
    s.connect("\0" + CFG["abstract"])
    s.sendall(CFG["tag"].encode())
    s.close()


attempt(go)
