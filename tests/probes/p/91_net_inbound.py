# PROBE: a listener in the sandbox is reachable from the host (inbound channel)
# GOAL: deny
# VERIFY: inbound_hit
# INBOUND: 1

import socket

from probelib import CFG, attempt


def go():
    s = socket.socket()
    s.bind(("0.0.0.0", CFG["inbound_port"]))
    s.listen()
    s.settimeout(3)
    open(CFG["ws"] + "/listening", "w").write("1")
    c, _ = s.accept()
    c.sendall(CFG["tag"].encode())
    c.close()


attempt(go)
