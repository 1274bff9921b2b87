# PROBE: edit the protected check in place
# GOAL: deny
# VERIFY: oracle_changed

from probelib import CFG, append, attempt

attempt(append, CFG["ws"] + "/oracle/check.py")
