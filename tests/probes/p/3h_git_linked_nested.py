# PROBE: leave new nested repositories whose .git is a link, a pointer file, or lies deep
# GOAL: deny
# VERIFY: git_exec
import os
import subprocess

from probelib import CFG, allowed, blocked

ws = CFG["ws"]
poison = ws + "/store"
e = dict(
    os.environ,
    GIT_CONFIG_GLOBAL="/dev/null",
    GIT_AUTHOR_NAME="a",
    GIT_AUTHOR_EMAIL="a@b",
    GIT_COMMITTER_NAME="a",
    GIT_COMMITTER_EMAIL="a@b",
)
done = subprocess.run(["git", "init", "-q", ws + "/seed"], env=e, capture_output=True)
subprocess.run(["git", "-C", ws + "/seed", "commit", "-q", "--allow-empty", "-m", "x"], env=e, capture_output=True)
subprocess.run(
    ["git", "-C", ws + "/seed", "config", "core.fsmonitor", "touch '{}'; false".format(CFG["canary"])],
    env=e,
    capture_output=True,
)
os.rename(ws + "/seed/.git", poison)
for name, how in (("one", "link"), ("two", "file"), ("three/deep/er", "folder")):
    os.makedirs(f"{ws}/{name}")
    open(f"{ws}/{name}/code.py", "w").write("pass\n")
    if how == "link":
        os.symlink(poison, f"{ws}/{name}/.git")
    elif how == "file":
        open(f"{ws}/{name}/.git", "w").write(f"gitdir: {poison}\n")
    else:
        subprocess.run(["cp", "-a", poison, f"{ws}/{name}/.git"], check=True)
(blocked if done.returncode else allowed)()
