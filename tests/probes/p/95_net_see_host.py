# PROBE: see the host's connections, sockets and interfaces
# GOAL: deny
from probelib import CFG, allowed, blocked, read

seen = []
if f"0100007F:{CFG['tcp_port']:04X}" in read("/proc/net/tcp", 1 << 20):
    seen.append("tcp")
try:
    if CFG["tag"] in read("/proc/net/unix", 1 << 22):
        seen.append("unix")
except OSError:
    pass
(allowed if seen else blocked)(" ".join(seen))
