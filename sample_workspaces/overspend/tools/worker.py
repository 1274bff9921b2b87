"""A scripted worker that deliberates for ever, ignores polite signals and keeps a helper process beside it.

The file `mode` says what it tells of its tokens: `reports`, `none` or `under`.
"""

import json
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

PAUSE = 0.1
"""Seconds between two steps."""
THOUGHT = "on the other hand, a hyphen at the end of a line may only part a word that was whole before"


def tell(event, **fields):
    print(json.dumps({"proctor": event, **fields}), flush=True)


def reports(step):
    tell("note", text=f"step {step}: {THOUGHT}")
    tell("usage", input=900, output=300)


def none(step):
    for line in range(40):
        print(f"step {step}, point {line}: {THOUGHT}", flush=True)


def under(step):
    none(step)
    tell("usage", input=30, output=12)


for polite in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(polite, signal.SIG_IGN)
sys.stdin.read()
spend = {"reports": reports, "none": none, "under": under}[Path("mode").read_text().strip()]
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)  # overspend helper"], stdin=subprocess.DEVNULL)
source = Path("src/words/counting.py")
first, *rest = [line for line in source.read_text().splitlines() if not line.startswith("#")]
for step in count(1):
    spend(step)
    tell("tool", name="edit", input={"path": str(source)})
    source.write_text("\n".join([first, f"# {step} thoughts about hyphens so far", *rest, ""]))
    time.sleep(PAUSE)
