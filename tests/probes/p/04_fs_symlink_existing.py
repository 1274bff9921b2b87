# PROBE: write through a symlink that was already in the repository
# GOAL: deny
# VERIFY: outside_changed

from probelib import CFG, append, attempt

attempt(append, CFG["ws"] + "/link_out/target.txt")
