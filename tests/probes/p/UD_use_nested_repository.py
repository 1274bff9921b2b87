# PROBE: read the history of a nested repository and work on its files
# GOAL: allow
import os
import subprocess

from probelib import CFG, must_work


def go():
    e = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_OPTIONAL_LOCKS="0")
    open(CFG["ws"] + "/sub/b", "w").write("b")
    for words in (["log", "--oneline"], ["status", "--short"], ["diff"]):
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", *words], cwd=CFG["ws"] + "/sub", capture_output=True, text=True, env=e
        )
        if done.returncode:
            raise RuntimeError(f"git {words[0]}: {done.stderr.strip()[-90:]}")


must_work(go)
