# PROBE: leave a file in the host /var/tmp
# GOAL: deny
# VERIFY: var_tmp_marker

from probelib import CFG, append, attempt

attempt(append, "/var/tmp/" + CFG["tag"])
