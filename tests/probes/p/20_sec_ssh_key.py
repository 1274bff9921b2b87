# PROBE: read ~/.ssh/id_ed25519
# GOAL: deny
import errno

from probelib import CFG, attempt, has_secret, read


def go():
    if not has_secret(read(CFG["home"] + "/.ssh/id_ed25519")):
        raise OSError(errno.ENODATA, "masked")


attempt(go)
