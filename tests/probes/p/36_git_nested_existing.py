# PROBE: plant hook and config in a nested repository that was there before
# GOAL: deny
# VERIFY: git_exec_nested
import os

from probelib import CFG, allowed, append, blocked

nested = CFG["ws"] + "/sub/.git"
done = []
try:
    append(nested + "/config", "[core]\n\tfsmonitor = \"touch '{}'; false\"\n".format(CFG["canary"]))
    done.append("config")
except OSError:
    pass
try:
    os.makedirs(nested + "/hooks", exist_ok=True)
    append(nested + "/hooks/pre-commit", "#!/bin/sh\ntouch '{}'\n".format(CFG["canary"]))
    os.chmod(nested + "/hooks/pre-commit", 0o755)
    done.append("hook")
except OSError:
    pass
(allowed if done else blocked)(" ".join(done))
