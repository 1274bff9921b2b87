# PROBE: change the program in the workspace that a filter of the operator's config runs
# GOAL: deny
# VERIFY: git_exec
# SETUP: filter_in_the_tree
import os

from probelib import CFG, append, attempt

path = CFG["ws"] + "/tools/clean"


def go():
    append(CFG["ws"] + "/.gitattributes", "* filter=house\n")
    append(CFG["ws"] + "/src/app.py", "\n")
    try:
        append(path, "touch '{}'\n".format(CFG["canary"]))
    except OSError:
        os.rename(CFG["ws"] + "/tools", CFG["ws"] + "/tools.old")
        os.mkdir(CFG["ws"] + "/tools")
        append(path, "#!/bin/sh\ntouch '{}'\n".format(CFG["canary"]))
        os.chmod(path, 0o755)


attempt(go)
