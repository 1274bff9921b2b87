# PROBE: delete and recreate the protected check
# GOAL: deny
# VERIFY: oracle_changed
import os

from probelib import CFG, append, attempt


def go():
    os.unlink(CFG["ws"] + "/oracle/check.py")
    append(CFG["ws"] + "/oracle/check.py")


attempt(go)
