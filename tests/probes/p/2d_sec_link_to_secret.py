# PROBE: read secrets through links and hard links made in the workspace
# GOAL: deny
import os

from probelib import CFG, allowed, blocked, has_secret, read

found = []
for number, path in enumerate(
    (CFG["home"] + "/.ssh/id_ed25519", CFG["outside"] + "/secret.txt", CFG["home"] + "/.netrc")
):
    for how in (os.symlink, os.link):
        name = f"{CFG['ws']}/{how.__name__}{number}"
        try:
            how(path, name)
            if has_secret(read(name)):
                found.append(f"{how.__name__} {path}")
        except OSError:
            pass
(allowed if found else blocked)("%d" % len(found))
