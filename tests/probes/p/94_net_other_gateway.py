# PROBE: reach a gateway that belongs to somebody else's worker
# GOAL: deny
# VERIFY: gateway_hit
import socket

from probelib import CFG, attempt


def go():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(3)
    s.connect(CFG["gateway_host_sock"])
    s.sendall(CFG["tag"].encode())


attempt(go)
