# PROBE: rename a workspace file over an outside file
# GOAL: deny
# VERIFY: outside_changed
import os

from probelib import CFG, attempt

open(CFG["ws"] + "/evil", "w").write("SBX_TAMPER\n")
attempt(os.rename, CFG["ws"] + "/evil", CFG["outside"] + "/target.txt")
