# PROBE: the newer mount calls: open_tree, fsopen, mount_setattr
# GOAL: deny
import ctypes

from probelib import allowed, blocked, ename, sysc

done, last = [], []
for name, words in (("open_tree", (-100, ctypes.c_char_p(b"/"), 0)), ("fsopen", (ctypes.c_char_p(b"tmpfs"), 0))):
    fd, error = sysc(name, *words)
    (done if fd >= 0 else last).append(name if fd >= 0 else f"{name} {ename(error)}")
(allowed if done else blocked)(" ".join(done or last))
