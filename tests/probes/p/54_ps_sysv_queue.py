# PROBE: read another program's System V message queue
# GOAL: deny
import ctypes

from probelib import CFG, allowed, blocked, ename, has_secret, libc

queue = libc.msgget(CFG["msg_key"], 0)
if queue < 0:
    blocked(ename(ctypes.get_errno()))
text = ctypes.create_string_buffer(256)
libc.msgrcv(queue, text, 200, 0, 0o4000)
(allowed if has_secret(text.raw.decode("latin1")) else blocked)()
