# PROBE: read a key out of the operator's session keyring
# GOAL: deny
import ctypes
import errno

from probelib import CFG, allowed, blocked, has_secret, sysc

number, error = sysc("keyctl", 10, -3, ctypes.c_char_p(b"user"), ctypes.c_char_p(CFG["key_name"].encode()), 0)
if number < 0:
    blocked(errno.errorcode.get(error, str(error)))
text = ctypes.create_string_buffer(256)
sysc("keyctl", 11, number, text, 256)
(allowed if has_secret(text.value.decode("latin1")) else blocked)("found, and %s" % text.value[:6])
