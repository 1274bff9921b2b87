# PROBE: UDP datagram to a host service
# GOAL: deny
# VERIFY: udp_hit

import socket

from probelib import CFG, attempt

attempt(
    lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(CFG["tag"].encode(), ("127.0.0.1", CFG["udp_port"]))
)
