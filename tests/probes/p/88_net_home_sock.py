# PROBE: connect to a gpg-agent style socket in HOME
# GOAL: deny
# VERIFY: unix_hit_homesock

import socket

from probelib import CFG, attempt


def go():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(3)
    s.connect(CFG["sock_homesock"])
    s.sendall(CFG["tag"].encode())
    s.close()


attempt(go)
