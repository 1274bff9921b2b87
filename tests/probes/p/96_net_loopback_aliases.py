# PROBE: reach a loopback service of the host by its other addresses
# GOAL: deny
# VERIFY: tcp_hit
import socket

from probelib import CFG, allowed, blocked, ename

last = None
for host in ("localhost", "0.0.0.0", "127.1", "::ffff:127.0.0.1", socket.gethostname()):
    try:
        s = socket.create_connection((host, CFG["tcp_port"]), 2)
        s.sendall(CFG["tag"].encode())
        allowed(host)
    except OSError as error:
        last = ename(error)
blocked(last)
