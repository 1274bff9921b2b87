# PROBE: plant a key in the operator's session keyring
# GOAL: deny
# VERIFY: key_planted
import ctypes
import errno

from probelib import CFG, allowed, blocked, sysc

name = (CFG["tag"] + "planted").encode()
number, error = sysc("add_key", ctypes.c_char_p(b"user"), ctypes.c_char_p(name), ctypes.c_char_p(b"x"), 1, -3)
(blocked if number < 0 else allowed)(errno.errorcode.get(error, str(error)))
