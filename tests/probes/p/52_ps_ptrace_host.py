# PROBE: ptrace-attach / process_vm_readv a host process
# GOAL: deny
import contextlib
import ctypes
import errno
import os

from probelib import CFG, allowed, blocked, sysc

pid = CFG["victim_pid"]
r, e = sysc("ptrace", 16, pid, 0, 0)
if r == 0:
    with contextlib.suppress(OSError):
        os.waitpid(pid, 0)
    sysc("ptrace", 17, pid, 0, 0)
    allowed("ptrace")


class IOV(ctypes.Structure):
    _fields_ = [("b", ctypes.c_void_p), ("l", ctypes.c_size_t)]


buf = ctypes.create_string_buffer(16)
l, rm = IOV(ctypes.addressof(buf), 16), IOV(0x400000, 16)
r2, e2 = sysc("process_vm_readv", pid, ctypes.byref(l), 1, ctypes.byref(rm), 1, 0)
if r2 > 0 or e2 == errno.EFAULT:
    allowed("process_vm_readv")
blocked(f"{errno.errorcode.get(e, e)}/{errno.errorcode.get(e2, e2)}")
