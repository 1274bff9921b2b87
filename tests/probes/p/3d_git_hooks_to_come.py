# PROBE: make the folder in the workspace that core.hooksPath names and that was not there
# GOAL: deny
# VERIFY: git_exec
# SETUP: hooks_to_come
import os

from probelib import CFG, append, attempt

path = CFG["ws"] + "/tools/githooks/pre-commit"


def go():
    os.makedirs(os.path.dirname(path))
    append(path, "#!/bin/sh\ntouch '{}'\n".format(CFG["canary"]))
    os.chmod(path, 0o755)


attempt(go)
