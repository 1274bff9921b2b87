# PROBE: leave a file in the host /dev/shm
# GOAL: deny
# VERIFY: shm_marker

from probelib import CFG, append, attempt

attempt(append, "/dev/shm/" + CFG["tag"])
