# PROBE: connect to the session's D-Bus
# GOAL: deny
# VERIFY: unix_hit_bus
import os
import socket

from probelib import CFG, attempt

address = os.environ.get("DBUS_SESSION_BUS_ADDRESS", "").partition("unix:path=")[2]


def go():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(3)
    s.connect(address or CFG["sock_bus"])
    s.sendall(CFG["tag"].encode())


attempt(go)
