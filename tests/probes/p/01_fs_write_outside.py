# PROBE: write a file the user owns outside the workspace
# GOAL: deny
# VERIFY: outside_changed

from probelib import CFG, append, attempt

attempt(append, CFG["outside"] + "/target.txt")
