# PROBE: connect to the ssh-agent socket in /tmp
# GOAL: deny
# VERIFY: unix_hit_agent

import socket

from probelib import CFG, attempt


def go():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(3)
    s.connect(CFG["sock_agent"])
    s.sendall(CFG["tag"].encode())
    s.close()


attempt(go)
