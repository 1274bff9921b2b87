"""Makes system calls, each in a child of its own, and says what came of them: {name: [number, arguments]} as JSON."""

import ctypes
import errno
import json
import mmap
import os
import signal
import sys


def call(name, number, arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    if name == "i386":  # mov eax, number; int 0x80; ret
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(b"\xb8" + number.to_bytes(4, "little") + b"\xcd\x80\xc3")
        entry = ctypes.addressof(ctypes.c_char.from_buffer(page))
        result = ctypes.CFUNCTYPE(ctypes.c_int)(entry)()
        return result if result >= 0 else -result, result < 0
    words = [ctypes.c_ulong(word & (2**64 - 1)) for word in arguments]
    result = libc.syscall(ctypes.c_long(number), *words)
    return (ctypes.get_errno(), True) if result < 0 else (result, False)


def answer(name, number, arguments):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        value, failed = call(name, number, arguments)
        if not value and not failed and name.startswith("clone"):  # the child that it made
            os._exit(0)
        os.write(writing, (errno.errorcode.get(value, f"error {value}") if failed else str(value)).encode())
        os._exit(0)
    os.close(writing)
    status = os.waitpid(child, 0)[1]
    said = os.read(reading, 100).decode()
    os.close(reading)
    return f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else said


signal.alarm(50)
print(json.dumps({name: answer(name, *row) for name, row in json.loads(sys.argv[1]).items()}))
