# PROBE: plant core.fsmonitor in the repository config
# GOAL: deny
# VERIFY: git_exec

from probelib import CFG, append, attempt

attempt(append, CFG["git_common"] + "/config", "[core]\n\tfsmonitor = \"touch '{}'; false\"\n".format(CFG["canary"]))
