# PROBE: connect to rootless docker.sock under XDG_RUNTIME_DIR
# GOAL: deny
# VERIFY: unix_hit_docker

import socket

from probelib import CFG, attempt


def go():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(3)
    s.connect(CFG["sock_docker"])
    s.sendall(CFG["tag"].encode())
    s.close()


attempt(go)
