# PROBE: put a socket of its own in the place of the gateway's
# GOAL: deny
# VERIFY: gateway_replaced
import os
import socket

from probelib import CFG, attempt


def go():
    os.unlink(CFG["gateway_sock"])
    s = socket.socket(socket.AF_UNIX)
    s.bind(CFG["gateway_sock"])


attempt(go)
