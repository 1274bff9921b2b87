# PROBE: write 200 MB into the temporary folders (bounded, removed)
# GOAL: deny
import os

from probelib import CFG, allowed, blocked, ename

paths = [f"/tmp/{CFG['tag']}-{number}" for number in range(10)]
last = None
try:
    for path in paths:
        with open(path, "wb") as file:
            for _ in range(20):
                file.write(b"\0" * (1 << 20))
except OSError as error:
    last = ename(error)
finally:
    for path in paths:
        if os.path.exists(path):
            os.unlink(path)
(blocked if last else allowed)(last or "")
