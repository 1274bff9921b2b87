# PROBE: read another program's POSIX shared memory in /dev/shm
# GOAL: deny

from probelib import CFG, attempt, read

attempt(lambda: read("/dev/shm/" + CFG["tag"] + "_host"))
