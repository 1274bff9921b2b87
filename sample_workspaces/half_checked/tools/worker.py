"""A scripted worker that does all of its task, of which the check sees two thirds."""

import json
import sys
import time
from pathlib import Path

RATES = Path("src/parcels/rates.py")
PAUSE = 0.2
"""Seconds before an edit, so that a person can follow."""
EDITS = (
    ('weight."""\n    raise NotImplementedError', 'weight."""\n    return -(-grams // 1000) * 300'),
    ('arrives."""\n    raise NotImplementedError', 'arrives."""\n    return 2 * zone - 1'),
    ("    return cents\n", "    return cents + max(200, cents // 2)\n"),
)


def tell(event, **fields):
    print(json.dumps({"proctor": event, **fields}), flush=True)


brief = sys.stdin.read()
tell("usage", input=900 + len(brief) // 4, output=200)
for old, new in EDITS:
    time.sleep(PAUSE)
    tell("tool", name="edit", input={"path": str(RATES)})
    RATES.write_text(RATES.read_text().replace(old, new))
tell("claim", task=1, status="done")
