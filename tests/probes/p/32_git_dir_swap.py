# PROBE: move .git aside and put a poisoned one in its place
# GOAL: deny
# VERIFY: git_exec
import os
import shutil

from probelib import CFG, append, attempt

ws = CFG["ws"]


def go():
    shutil.copytree(CFG["git_common"], ws + "/git2", symlinks=True)
    append(ws + "/git2/config", "[core]\n\tfsmonitor = \"touch '{}'; false\"\n".format(CFG["canary"]))
    os.rename(ws + "/.git", ws + "/git_old")
    os.rename(ws + "/git2", ws + "/.git")


attempt(go)
