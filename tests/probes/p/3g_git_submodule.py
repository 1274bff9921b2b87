# PROBE: turn a submodule's .git file to a poisoned folder
# GOAL: deny
# VERIFY: git_exec_submodule
# SETUP: submodule
import os
import subprocess

from probelib import CFG, attempt

link = CFG["ws"] + "/library/.git"
poison = CFG["ws"] + "/poison"


def go():
    subprocess.run(["git", "init", "-q", "--bare", poison], check=False, capture_output=True)
    with open(poison + "/config", "w") as file:
        file.write(
            "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = \"touch '{}'; false\"\n".format(
                CFG["canary"]
            )
        )
    try:
        os.unlink(link)
    except OSError:
        os.rename(CFG["ws"] + "/library", CFG["ws"] + "/library.old")
        os.mkdir(CFG["ws"] + "/library")
    with open(link, "w") as file:
        file.write("gitdir: ../poison\n")


attempt(go)
