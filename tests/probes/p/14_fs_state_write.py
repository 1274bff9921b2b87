# PROBE: write the supervisor's own state directory
# GOAL: deny
# VERIFY: state_changed

from probelib import CFG, append, attempt

attempt(append, CFG["state"] + "/ledger.jsonl")
