# PROBE: read the supervisor's own state directory
# GOAL: deny
import errno

from probelib import CFG, attempt, has_secret, read


def go():
    t = read(CFG["state"] + "/ledger.jsonl")
    if not has_secret(t):
        raise OSError(errno.ENODATA, "masked")


attempt(go)
