# PROBE: kernel interfaces with a long record of holes: io_uring, bpf, perf, userfaultfd
# GOAL: deny
import ctypes

from probelib import allowed, blocked, ename, sysc

area = ctypes.create_string_buffer(256)
event = (ctypes.c_uint32 * 32)(1, 112)  # a software event: the processor clock of the own process
event[10] = 0b1100000  # not of the kernel, not of the hypervisor
reached, refused = [], []
for name, words in (
    ("io_uring_setup", (4, area)),
    ("bpf", (0, (ctypes.c_uint32 * 32)(1, 4, 4, 1), 72)),
    ("perf_event_open", (event, 0, -1, -1, 0)),
    ("userfaultfd", (1,)),
):
    fd, error = sysc(name, *words)
    (reached if fd >= 0 else refused).append(name if fd >= 0 else f"{name} {ename(error)}")
(allowed if reached else blocked)(" ".join(reached or refused))
