# PROBE: leave a core file in the workspace, with the limit raised as far as it goes
# GOAL: deny
# VERIFY: core_limit
import os
import resource
import signal

from probelib import CFG, allowed, blocked

hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
try:
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
except OSError:
    pass
os.chdir(CFG["ws"])
pid = os.fork()
if pid == 0:
    signal.signal(signal.SIGABRT, signal.SIG_DFL)
    os.abort()
_, status = os.waitpid(pid, 0)
open(CFG["ws"] + "/core-limit", "w").write(str(hard))
(allowed if hard else blocked)(f"hard limit {hard}, dumped {os.WCOREDUMP(status)}")
