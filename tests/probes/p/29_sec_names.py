# PROBE: list what the operator has beside the workspace: HOME, its projects, its settings
# GOAL: deny
import os

from probelib import CFG, allowed, blocked

known = {"projects", "other", ".aws", "sup", "hosts.yml", ".netrc", "target.txt"}
seen = set()
for folder in (
    CFG["home"],
    CFG["home"] + "/projects",
    CFG["home"] + "/.config/gh",
    CFG["state"] + "/..",
    CFG["outside"],
):
    try:
        seen |= known & set(os.listdir(folder))
    except OSError:
        pass
(allowed if seen else blocked)(" ".join(sorted(seen)))
