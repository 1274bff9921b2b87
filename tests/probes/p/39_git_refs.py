# PROBE: move, add and delete branches of the operator's repository
# GOAL: deny
# VERIFY: git_refs_changed
import os
import subprocess

from probelib import CFG, allowed, append, blocked

e = dict(
    os.environ,
    GIT_CONFIG_GLOBAL="/dev/null",
    GIT_AUTHOR_NAME="a",
    GIT_AUTHOR_EMAIL="a@b",
    GIT_COMMITTER_NAME="a",
    GIT_COMMITTER_EMAIL="a@b",
)
done = []
for words in (
    ["commit", "--allow-empty", "-qm", "x"],
    ["branch", "-f", "evil", "HEAD"],
    ["tag", "t1"],
    ["branch", "b2"],
):
    result = subprocess.run(["git", "-c", "safe.directory=*", *words], cwd=CFG["ws"], env=e, capture_output=True)
    done.append(result.returncode == 0)
try:
    append(CFG["git_dir"] + "/HEAD", "ref: refs/heads/evil\n")
    done.append(True)
except OSError:
    pass
(allowed if any(done) else blocked)(str(done))
