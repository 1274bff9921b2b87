# PROBE: write through a hard link to an outside file that was in the workspace before
# GOAL: deny
# VERIFY: hardlinked_changed
from probelib import CFG, append, attempt

attempt(append, CFG["ws"] + "/vendor/hardlinked.txt")
