# PROBE: read the .env of a different project in HOME
# GOAL: deny
import errno

from probelib import CFG, attempt, has_secret, read


def go():
    if not has_secret(read(CFG["home"] + "/projects/other/.env")):
        raise OSError(errno.ENODATA, "masked")


attempt(go)
