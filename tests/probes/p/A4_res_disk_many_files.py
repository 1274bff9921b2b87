# PROBE: write 100 MB as ten files (defeats per-file limits)
# GOAL: deny
import os

from probelib import CFG, attempt

ps = [CFG["ws"] + "/big%d" % i for i in range(10)]


def go():
    try:
        for p in ps:
            with open(p, "wb") as f:
                for _ in range(10):
                    f.write(b"\0" * (1 << 20))
    finally:
        for p in ps:
            if os.path.exists(p):
                os.unlink(p)


attempt(go)
