# PROBE: leave a file in the host /tmp
# GOAL: deny
# VERIFY: tmp_marker

from probelib import CFG, append, attempt

attempt(append, "/tmp/" + CFG["tag"])
