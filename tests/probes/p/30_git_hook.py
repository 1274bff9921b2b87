# PROBE: plant hooks/pre-commit in the repository
# GOAL: deny
# VERIFY: git_exec
import os

from probelib import CFG, append, attempt

p = CFG["git_common"] + "/hooks/pre-commit"


def go():
    append(p, "#!/bin/sh\ntouch '{}'\n".format(CFG["canary"]))
    os.chmod(p, 0o755)


attempt(go)
