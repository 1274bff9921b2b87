# PROBE: node starts and spawns a child
# GOAL: allow

import shutil
import subprocess

from probelib import CFG, must_work, skip

n = shutil.which("node") or CFG.get("node")
if not n:
    skip("no node")


def go():
    r = subprocess.run(
        [
            n,
            "-e",
            "console.log(require('child_process').execSync('echo hi').toString().trim(), os=require('os').cpus().length)",
        ],
        capture_output=True,
        text=True,
    )
    if r.returncode:
        raise RuntimeError(r.stderr[-80:])


must_work(go)
