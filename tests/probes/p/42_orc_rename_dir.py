# PROBE: rename the protected directory and put another in its place
# GOAL: deny
# VERIFY: oracle_changed
import os

from probelib import CFG, append, attempt


def go():
    os.rename(CFG["ws"] + "/oracle", CFG["ws"] + "/oracle_x")
    os.mkdir(CFG["ws"] + "/oracle")
    append(CFG["ws"] + "/oracle/check.py")


attempt(go)
