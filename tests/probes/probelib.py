"""Helpers shared by the probes.  A probe is run as

    python3 NN_name.py CONFIG.json

inside the sandbox under test.  Exit status:
    0   BLOCKED  (GOAL deny)  / WORKS  (GOAL allow)
    10  ALLOWED  (GOAL deny)  / BROKEN (GOAL allow)
    77  SKIP     not applicable on this host
    else ERROR   a probe that crashed proves nothing, never count it as blocked
Standard library only.
"""

import ctypes
import errno
import json
import os
import sys

sys.dont_write_bytecode = True
with open(sys.argv[1]) as _f:
    CFG = json.load(_f)
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
ARCH = os.uname().machine
NR = {  # syscall numbers: x86_64, aarch64
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "unshare": (272, 97),
    "mount": (165, 40),
    "umount2": (166, 39),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "io_uring_setup": (425, 425),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "setns": (308, 268),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "openat2": (437, 437),
    "open_tree": (428, 428),
    "pidfd_getfd": (438, 438),
    "mq_open": (240, 180),
    "mq_timedreceive": (243, 183),
    "clone": (56, 220),
    "clone3": (435, 435),
    "fchmodat2": (452, 452),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fsopen": (430, 430),
    "pidfd_open": (434, 434),
}


def _out(word, msg, code):
    sys.stdout.write(f"{word} {msg}\n")
    sys.stdout.flush()
    os._exit(code)


def blocked(msg=""):
    _out("BLOCKED", msg, 0)


def allowed(msg=""):
    _out("ALLOWED", msg, 10)


def works(msg=""):
    _out("WORKS", msg, 0)


def broken(msg=""):
    _out("BROKEN", msg, 10)


def skip(msg=""):
    _out("SKIP", msg, 77)


def ename(e):
    n = e.errno if isinstance(e, OSError) else e
    return errno.errorcode.get(n, str(n))


def attempt(fn, *a, **k):
    """Run fn; OSError -> BLOCKED, otherwise ALLOWED."""
    try:
        r = fn(*a, **k)
    except OSError as e:
        blocked(ename(e))
    allowed("" if r is None else str(r)[:80])


def must_work(fn, *a, **k):
    try:
        r = fn(*a, **k)
    except Exception as e:
        broken(f"{type(e).__name__}: {e}")
    works("" if r is None else str(r)[:80])


def sysc(name, *args):
    """Raw syscall; returns (ret, errno)."""
    nr = NR[name][0 if ARCH == "x86_64" else 1]
    conv = [ctypes.c_void_p(a) if isinstance(a, int) and a > 2**31 else a for a in args]
    conv = [ctypes.c_long(a) if isinstance(a, int) else a for a in conv]
    ctypes.set_errno(0)
    r = libc.syscall(ctypes.c_long(nr), *conv)
    return r, ctypes.get_errno()


def sys_result(name, *args):
    r, e = sysc(name, *args)
    if r < 0:
        blocked(errno.errorcode.get(e, str(e)))
    return r


def append(path, text="SBX_TAMPER\n"):
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def read(path, n=4096):
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, n).decode("utf-8", "replace")
    finally:
        os.close(fd)


def has_secret(text):
    return CFG["secret"] in text
