# PROBE: git status / add / commit / branch in the workspace
# GOAL: allow
import os
import subprocess

from probelib import CFG, must_work


def go():
    open(CFG["ws"] + "/src/f.txt", "w").write("x")
    e = dict(
        os.environ,
        GIT_CONFIG_GLOBAL="/dev/null",
        GIT_AUTHOR_NAME="a",
        GIT_AUTHOR_EMAIL="a@b",
        GIT_COMMITTER_NAME="a",
        GIT_COMMITTER_EMAIL="a@b",
    )
    for c in (["status", "--short"], ["add", "src/f.txt"], ["commit", "-qm", "x"], ["branch", "b1"]):
        r = subprocess.run(["git", "-c", "safe.directory=*", *c], cwd=CFG["ws"], capture_output=True, text=True, env=e)
        if r.returncode:
            raise RuntimeError(f"git {c[0]}: {r.stderr.strip()[-70:]}")


must_work(go)
