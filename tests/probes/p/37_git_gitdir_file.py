# PROBE: replace .git by a pointer file to a poisoned git dir
# GOAL: deny
# VERIFY: git_exec
import os
import shutil

from probelib import CFG, append, attempt

ws = CFG["ws"]


def go():
    shutil.copytree(CFG["git_common"], ws + "/git3", symlinks=True)
    append(ws + "/git3/config", "[core]\n\tfsmonitor = \"touch '{}'; false\"\n".format(CFG["canary"]))
    if os.path.isdir(ws + "/.git"):
        os.rename(ws + "/.git", ws + "/git_old")
    else:
        os.unlink(ws + "/.git")
    open(ws + "/.git", "w").write(f"gitdir: {ws}/git3\n")


attempt(go)
