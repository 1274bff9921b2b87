# PROBE: put a file into the operator's index
# GOAL: deny
# VERIFY: git_index_changed
import os
import subprocess

from probelib import CFG, allowed, blocked

open(CFG["ws"] + "/planted", "w").write("x")
e = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null")
done = subprocess.run(["git", "-c", "safe.directory=*", "add", "planted"], cwd=CFG["ws"], env=e, capture_output=True)
(blocked if done.returncode else allowed)()
