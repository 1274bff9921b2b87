# PROBE: signal a host process, or take one of its descriptors, by a pidfd
# GOAL: deny
# VERIFY: victim_or_pts
import os
import signal

from probelib import CFG, allowed, blocked, ename, sysc

pidfd, error = sysc("pidfd_open", CFG["victim_pid"], 0)
if pidfd < 0:
    blocked(ename(error))
done = []
try:
    signal.pidfd_send_signal(pidfd, signal.SIGUSR1)
    done.append("signal")
except OSError:
    pass
fd, _ = sysc("pidfd_getfd", pidfd, CFG["victim_fd"], 0)
if fd >= 0:
    os.write(fd, CFG["tag"].encode())
    done.append("descriptor")
(allowed if done else blocked)(" ".join(done))
