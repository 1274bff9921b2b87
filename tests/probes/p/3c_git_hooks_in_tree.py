# PROBE: write a hook into the folder of the workspace that core.hooksPath names
# GOAL: deny
# VERIFY: git_exec
# SETUP: hooks_in_the_tree
import os

from probelib import CFG, append, attempt

path = CFG["ws"] + "/.githooks/pre-commit"


def go():
    append(path, "#!/bin/sh\ntouch '{}'\n".format(CFG["canary"]))
    os.chmod(path, 0o755)


attempt(go)
