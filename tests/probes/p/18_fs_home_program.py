# PROBE: replace a program of the operator's in ~/.local/bin
# GOAL: deny
# VERIFY: home_tool_changed
import os

from probelib import CFG, append, attempt

tool = CFG["home"] + "/.local/bin/tool"


def go():
    try:
        append(tool)
    except OSError:
        os.unlink(tool)
        append(tool)


attempt(go)
