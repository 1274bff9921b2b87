# PROBE: signal a process group of the host
# GOAL: deny
# VERIFY: victim_signalled
import os
import signal

from probelib import CFG, attempt

attempt(os.killpg, CFG["victim_pid"], signal.SIGUSR1)
