"""A scripted worker that is stuck: each attempt is another way to round a float, and none can work.

How often it has tried it reads from the progress log, where it leaves a line each time.
"""

import json
import sys
import time
from pathlib import Path

MONEY, LOG = Path("src/invoice/money.py"), Path("PROGRESS.md")
PAUSE = 0.25
"""Seconds after each event, so that a person can follow."""
ATTEMPTS = [
    ("format the float", "", 'return f"{whole:.2f}"'),
    ("round to two digits first", "", 'return f"{round(whole, 2):.2f}"'),
    ("add half a cent and floor", "import math\n", 'return f"{math.floor(whole * 100 + 0.5) / 100:.2f}"'),
    (
        "count whole cents",
        "",
        'cents = int(whole * 100 + 0.5)\n    units, rest = divmod(cents, 100)\n    return f"{units}.{rest:02d}"',
    ),
    (
        "go through Decimal at the end",
        "from decimal import ROUND_HALF_UP, Decimal\n",
        'cent = Decimal("0.01")\n    return str(Decimal(whole).quantize(cent, rounding=ROUND_HALF_UP))',
    ),
]
SOURCE = '''"""Sums of money."""
{imports}

def total(prices):
    """The sum of prices, as text with two decimals."""
    whole = sum(float(price) for price in prices)
    {body}
'''


def tell(event, **fields):
    print(json.dumps({"proctor": event, **fields}), flush=True)
    time.sleep(PAUSE)


brief = sys.stdin.read()
tried = LOG.read_text().count("\n- tried: ")
idea, imports, body = ATTEMPTS[tried % len(ATTEMPTS)]
tell("tool", name="read", input={"path": str(MONEY)})
tell("note", text=f"This time I will {idea}.")
tell("usage", input=1500 + len(brief) // 4, output=400, cache_read=3000, cache_write=800)
MONEY.write_text(SOURCE.format(imports=f"\n{imports}" if imports else "", body=body))
tell("tool", name="edit", input={"path": str(MONEY)})
with LOG.open("a") as log:
    log.write(f"\n- tried: {idea}\n")
