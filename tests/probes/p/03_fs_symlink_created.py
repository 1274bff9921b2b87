# PROBE: symlink made inside the workspace, pointing out, then written through
# GOAL: deny
# VERIFY: outside_changed
import os

from probelib import CFG, append, attempt

l = CFG["ws"] + "/mylink"
os.symlink(CFG["outside"], l)
attempt(append, l + "/target.txt")
