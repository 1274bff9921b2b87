# PROBE: hard-link an outside file into the workspace and write through it
# GOAL: deny
# VERIFY: outside_changed
import os

from probelib import CFG, append, attempt


def go():
    os.link(CFG["outside"] + "/target.txt", CFG["ws"] + "/hl")
    append(CFG["ws"] + "/hl")


attempt(go)
