# PROBE: open kernel control files for writing (opened and closed, nothing is written)
# GOAL: deny
# CONTROL: root
import os

from probelib import allowed, blocked

ok = []
for p in (
    "/proc/sys/kernel/core_pattern",
    "/proc/sysrq-trigger",
    "/proc/sys/vm/drop_caches",
    "/proc/sys/kernel/hostname",
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/fs/cgroup/pids/cgroup.procs",
    "/sys/kernel/mm/transparent_hugepage/enabled",
):
    try:
        os.close(os.open(p, os.O_WRONLY))
        ok.append(p)
    except OSError:
        pass
(allowed if ok else blocked)(" ".join(ok)[:80])
