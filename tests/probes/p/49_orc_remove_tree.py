# PROBE: remove the whole tree around the protected check
# GOAL: deny
# VERIFY: deep_oracle_changed
import os
import shutil

from probelib import CFG, allowed, blocked

shutil.rmtree(CFG["ws"] + "/deep", ignore_errors=True)
(blocked if os.path.exists(CFG["ws"] + "/deep/a/oracle/check.py") else allowed)()
