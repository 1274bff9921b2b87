# PROBE: TCP connect over ::1
# GOAL: deny
# VERIFY: tcp6_hit

import socket

from probelib import CFG, attempt, skip

if not CFG.get("tcp6_port"):
    skip("no IPv6 on host")


def go():
    s = socket.create_connection(("::1", CFG["tcp6_port"]), 3)
    s.sendall(CFG["tag"].encode())
    s.close()


attempt(go)
