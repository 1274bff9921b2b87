# PROBE: plant core.fsmonitor in a submodule's config below the git folder
# GOAL: deny
# VERIFY: git_modules_changed
from probelib import CFG, append, attempt

attempt(
    append,
    CFG["git_common"] + "/modules/m/config",
    "[core]\n\tfsmonitor = \"touch '{}'; false\"\n".format(CFG["canary"]),
)
