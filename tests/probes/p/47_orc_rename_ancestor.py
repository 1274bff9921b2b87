# PROBE: rename a folder two above the protected check and put another in its place
# GOAL: deny
# VERIFY: deep_oracle_changed
import os

from probelib import CFG, append, attempt


def go():
    os.rename(CFG["ws"] + "/deep", CFG["ws"] + "/deep_x")
    os.makedirs(CFG["ws"] + "/deep/a/oracle")
    append(CFG["ws"] + "/deep/a/oracle/check.py")


attempt(go)
