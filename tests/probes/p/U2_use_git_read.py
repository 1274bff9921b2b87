# PROBE: git log, diff, show, blame, stash and a merge in the workspace
# GOAL: allow
import os
import subprocess

from probelib import CFG, must_work


def go():
    e = dict(
        os.environ,
        GIT_CONFIG_GLOBAL="/dev/null",
        GIT_AUTHOR_NAME="a",
        GIT_AUTHOR_EMAIL="a@b",
        GIT_COMMITTER_NAME="a",
        GIT_COMMITTER_EMAIL="a@b",
    )
    said = {}

    def git(*words):
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", *words], cwd=CFG["ws"], capture_output=True, text=True, env=e
        )
        if done.returncode:
            raise RuntimeError(f"git {words[0]}: {done.stderr.strip()[-90:]}")
        said[words[0]] = done.stdout

    git("log", "--oneline")
    assert "c0" in said["log"]
    open(CFG["ws"] + "/src/app.py", "a").write("print('more')\n")
    git("diff")
    assert "+print('more')" in said["diff"]
    git("show", "--stat", "HEAD")
    git("blame", "src/app.py")
    git("stash")
    git("stash", "pop")
    git("checkout", "-q", "-b", "side")
    git("commit", "-qam", "side")
    git("checkout", "-q", "-")
    git("merge", "-q", "--no-edit", "side")
    git("status", "--short")
    git("log", "--all", "--oneline")
    git("rev-parse", "--show-toplevel")
    assert said["rev-parse"].strip() == CFG["ws"], said["rev-parse"]


must_work(go)
