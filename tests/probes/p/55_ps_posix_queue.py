# PROBE: read another program's POSIX message queue
# GOAL: deny
import ctypes
import os

from probelib import CFG, allowed, blocked, ename, has_secret, sysc

fd, error = sysc("mq_open", ctypes.c_char_p(CFG["mq_name"].encode()), os.O_RDWR | os.O_NONBLOCK, 0, 0)
if fd < 0:
    blocked(ename(error))
text = ctypes.create_string_buffer(16384)
sysc("mq_timedreceive", fd, text, 16384, 0, 0)
(allowed if has_secret(text.raw.decode("latin1")) else blocked)()
