# PROBE: C compiler in the workspace
# GOAL: allow

import shutil
import subprocess

from probelib import CFG, must_work, skip

if not shutil.which("gcc"):
    skip("no gcc")


def go():
    open(CFG["ws"] + "/a.c", "w").write("int main(){return 0;}")
    subprocess.run(["gcc", "-o", "a.out", "a.c"], cwd=CFG["ws"], check=True, capture_output=True)
    subprocess.run(["./a.out"], cwd=CFG["ws"], check=True)


must_work(go)
