# PROBE: a repository of its own in a temporary folder and one in the workspace, as test suites make them
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
    for folder in (f"/tmp/{CFG['tag']}", CFG["ws"] + "/build/repo"):
        os.makedirs(folder)
        open(folder + "/a", "w").write("a")
        for words in (
            ["init", "-q"],
            ["add", "a"],
            ["commit", "-qm", "a"],
            ["clone", "-q", folder, folder + ".clone"],
            ["log", "--oneline"],
        ):
            done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, env=e)
            if done.returncode:
                raise RuntimeError(f"git {words[0]} in {folder}: {done.stderr.strip()[-90:]}")


must_work(go)
