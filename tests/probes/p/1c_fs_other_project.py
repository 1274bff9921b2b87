# PROBE: write into a different project in HOME
# GOAL: deny
# VERIFY: other_project_changed
from probelib import CFG, append, attempt

attempt(append, CFG["home"] + "/projects/other/.env")
