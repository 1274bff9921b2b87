# PROBE: change priority, processors and limits of a host process
# GOAL: deny
# VERIFY: victim_reniced
import os

from probelib import CFG, attempt

attempt(os.setpriority, os.PRIO_PROCESS, CFG["victim_pid"], 7)
