# PROBE: sockets of families that no tool needs: AF_ALG, vsock, packet, key, Bluetooth, CAN, TIPC, XDP
# GOAL: deny
import socket

from probelib import allowed, blocked

made = []
for name, family, kind in (
    ("alg", 38, 5),
    ("vsock", 40, 1),
    ("packet", 17, 3),
    ("key", 15, 3),
    ("bluetooth", 31, 3),
    ("can", 29, 3),
    ("tipc", 30, 1),
    ("xdp", 44, 3),
    ("rds", 21, 5),
    ("x25", 9, 5),
):
    try:
        socket.socket(family, kind).close()
        made.append(name)
    except OSError:
        pass
(allowed if made else blocked)(" ".join(made))
