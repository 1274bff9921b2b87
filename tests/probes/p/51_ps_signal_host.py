# PROBE: signal a host process of the same user by its host pid
# GOAL: deny
# VERIFY: victim_signalled
import os
import signal

from probelib import CFG, attempt

attempt(os.kill, CFG["victim_pid"], signal.SIGUSR1)
