# PROBE: open raw device nodes (kmsg, mem, disks, kvm, fuse, tun, vsock, input)
# GOAL: deny
# CONTROL: root
import glob
import os
import stat

from probelib import allowed, blocked

ok = []
for p in [
    "/dev/kmsg",
    "/dev/mem",
    "/dev/port",
    "/dev/kvm",
    "/dev/fuse",
    "/dev/net/tun",
    "/dev/vsock",
    "/dev/vhost-vsock",
    "/dev/loop-control",
    "/dev/btrfs-control",
    *glob.glob("/dev/[sv]d[a-z]")[:4],
    *glob.glob("/dev/nvme*")[:2],
    *glob.glob("/dev/input/*")[:2],
    *glob.glob("/dev/dri/*")[:2],
]:
    try:
        if not (stat.S_ISCHR(os.stat(p).st_mode) or stat.S_ISBLK(os.stat(p).st_mode)):
            continue
        os.close(os.open(p, os.O_RDONLY | os.O_NONBLOCK))
        ok.append(p)
    except OSError:
        pass
(allowed if ok else blocked)(" ".join(ok)[:80])
