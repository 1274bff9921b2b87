# PROBE: write the protected check through a hard link made of it
# GOAL: deny
# VERIFY: oracle_changed
import os

from probelib import CFG, append, attempt


def go():
    os.link(CFG["ws"] + "/oracle/check.py", CFG["ws"] + "/hl.py")
    append(CFG["ws"] + "/hl.py")


attempt(go)
