# PROBE: open an outside file by its handle, past all mounts
# GOAL: deny
# CONTROL: root
# VERIFY: outside_changed
import ctypes
import os
import struct

from probelib import CFG, allowed, blocked, ename, sysc

handle = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0), 136)
number = ctypes.c_int()
for path in (CFG["outside"] + "/target.txt", CFG["ws"]):
    done, error = sysc("name_to_handle_at", -100, ctypes.c_char_p(path.encode()), handle, ctypes.byref(number), 0)
    if done == 0:
        break
else:
    blocked("no handle: " + ename(error))
base = os.open(CFG["ws"], os.O_RDONLY)
fd, error = sysc("open_by_handle_at", base, handle, os.O_WRONLY | os.O_APPEND)
if fd < 0:
    blocked(ename(error))
os.write(fd, b"SBX_TAMPER\n")
allowed()
