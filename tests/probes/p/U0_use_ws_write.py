# PROBE: create, edit, rename and delete files in the workspace
# GOAL: allow
# VERIFY: ws_written
import os

from probelib import CFG, append, must_work


def go():
    p = CFG["ws"] + "/src/new.py"
    append(p, "x=1\n")
    os.rename(p, CFG["ws"] + "/src/new2.py")
    os.unlink(CFG["ws"] + "/src/app.py")


must_work(go)
