# PROBE: turn git to a poisoned folder by writing commondir into the git folder
# GOAL: deny
# VERIFY: git_exec
import os
import shutil

from probelib import CFG, append, attempt

poison = CFG["ws"] + "/poison"


def go():
    shutil.copytree(CFG["git_common"], poison, symlinks=True)
    append(poison + "/config", "[core]\n\tfsmonitor = \"touch '{}'; false\"\n".format(CFG["canary"]))
    with open(CFG["git_dir"] + "/commondir", "w") as file:
        file.write(os.path.abspath(poison) + "\n")


attempt(go)
