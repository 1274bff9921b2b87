# PROBE: leave a new nested repository, recorded in the index, whose config runs a command
# GOAL: deny
# VERIFY: git_exec
import os
import subprocess

from probelib import CFG, allowed, blocked

new = CFG["ws"] + "/newrepo"
e = dict(
    os.environ,
    GIT_CONFIG_GLOBAL="/dev/null",
    GIT_AUTHOR_NAME="a",
    GIT_AUTHOR_EMAIL="a@b",
    GIT_COMMITTER_NAME="a",
    GIT_COMMITTER_EMAIL="a@b",
)


def git(folder, *words):
    done = subprocess.run(["git", "-c", "safe.directory=*", *words], cwd=folder, env=e, capture_output=True, text=True)
    return done.returncode == 0


os.makedirs(new)
open(new + "/a", "w").write("a")
steps = [git(new, "init", "-q"), git(new, "add", "a"), git(new, "commit", "-qm", "a")]
steps += [git(CFG["ws"], "add", "newrepo"), git(CFG["ws"], "commit", "-qm", "newrepo")]
steps += [git(new, "config", "core.fsmonitor", "touch '{}'; false".format(CFG["canary"]))]
(allowed if steps[-1] else blocked)(str(steps))
