# PROBE: let git change the protected check: checkout and restore of a branch that has another
# GOAL: deny
# VERIFY: oracle_changed
import os
import subprocess

from probelib import CFG, allowed, blocked

e = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null")
done = []
for words in (
    ["checkout", "evil", "--", "oracle"],
    ["restore", "-s", "evil", "oracle"],
    ["checkout", "-q", "-f", "evil"],
    ["reset", "-q", "--hard", "evil"],
):
    result = subprocess.run(["git", "-c", "safe.directory=*", *words], cwd=CFG["ws"], env=e, capture_output=True)
    done.append(result.returncode == 0)
(allowed if any(done) else blocked)(str(done))
