# PROBE: create another user namespace (kernel attack surface, regains capabilities)
# GOAL: deny

from probelib import allowed, sys_result

sys_result("unshare", 0x10000000)
allowed("unshare(CLONE_NEWUSER)")
