# PROBE: change a file of the workspace that the operator's config includes
# GOAL: deny
# VERIFY: git_exec
# SETUP: included_config
import os

from probelib import CFG, append, attempt

path = CFG["ws"] + "/.gitconfig.shared"
text = "[core]\n\tfsmonitor = \"touch '{}'; false\"\n".format(CFG["canary"])


def go():
    try:
        append(path, text)
    except OSError:
        append(path + ".new", text)
        os.rename(path + ".new", path)


attempt(go)
