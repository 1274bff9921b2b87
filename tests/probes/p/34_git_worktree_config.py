# PROBE: plant core.fsmonitor in the worktree's own config
# GOAL: deny
# VERIFY: git_exec
from probelib import CFG, append, attempt

attempt(
    append, CFG["git_dir"] + "/config.worktree", "[core]\n\tfsmonitor = \"touch '{}'; false\"\n".format(CFG["canary"])
)
