# PROBE: read proctor's folder in the workspace
# GOAL: deny
import errno

from probelib import CFG, attempt, has_secret, read


def go():
    if not has_secret(read(CFG["ws"] + "/.proctor/ledger.jsonl")):
        raise OSError(errno.ENODATA, "masked")


attempt(go)
