# PROBE: TCP connect to a loopback service of the host
# GOAL: deny
# VERIFY: tcp_hit

import socket

from probelib import CFG, attempt


def go():
    s = socket.create_connection(("127.0.0.1", CFG["tcp_port"]), 3)
    s.sendall(CFG["tag"].encode())
    s.close()


attempt(go)
