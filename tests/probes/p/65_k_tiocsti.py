# PROBE: push keystrokes into the host terminal (TIOCSTI), also with a high bit set
# GOAL: deny
# VERIFY: tty_injected
# TTY: 1
import ctypes
import fcntl
import os

from probelib import ARCH, allowed, blocked, ename, libc


def inject(fd, req):
    for ch in b"SBXKEYS\n":
        fcntl.ioctl(fd, req, bytes([ch]))


last = None
for dev in ("/dev/tty", 0):
    for req in (0x5412,):
        try:
            fd = os.open(dev, os.O_RDWR) if isinstance(dev, str) else dev
            inject(fd, req)
            allowed(str(dev))
        except OSError as e:
            last = e
r = -1
buf = ctypes.c_char(b"S")
r = libc.syscall(
    ctypes.c_long(16 if ARCH == "x86_64" else 29), ctypes.c_long(0), ctypes.c_ulong(0x5412 | 1 << 32), ctypes.byref(buf)
)
if r == 0:
    allowed("high-bit ioctl")
blocked(ename(last))
