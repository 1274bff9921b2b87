# PROBE: read ~/.aws/credentials
# GOAL: deny
import errno

from probelib import CFG, attempt, has_secret, read


def go():
    if not has_secret(read(CFG["home"] + "/.aws/credentials")):
        raise OSError(errno.ENODATA, "masked")


attempt(go)
