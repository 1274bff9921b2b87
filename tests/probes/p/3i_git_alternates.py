# PROBE: turn the operator's repository to other objects
# GOAL: deny
# VERIFY: git_alternates
import os

from probelib import CFG, append, attempt


def go():
    os.makedirs(CFG["git_common"] + "/objects/info", exist_ok=True)
    append(CFG["git_common"] + "/objects/info/alternates", CFG["ws"] + "/objects\n")


attempt(go)
