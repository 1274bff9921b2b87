"""A scripted worker that asks a question and waits, while a second process of its own keeps counting."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

CLOCK, COUNTER = Path("src/durations/clock.py"), Path("counter")
COUNTING = """
from itertools import count
from time import sleep
with open("counter", "w") as counter:
    for number in count(1):
        sum(range(20_000))
        counter.seek(0)
        counter.write(str(number))
        counter.flush()
        sleep(0.01)
"""


def tell(event, **fields):
    print(json.dumps({"proctor": event, **fields}), flush=True)


def answer_to(question):
    """The operator's decision; with nobody to ask it is no."""
    answers = os.environ.get("PROCTOR_ANSWERS")
    while answers:
        with open(answers, encoding="utf-8") as lines:
            for line in lines:
                answer = json.loads(line)
                if answer["id"] == question:
                    return answer["decision"]
    return "deny"


sys.stdin.read()
counting = subprocess.Popen([sys.executable, "-c", COUNTING], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
try:
    while not (COUNTER.exists() and COUNTER.read_text()):
        time.sleep(0.01)
    tell("note", text="A second process counts into the file `counter`.")
    why = "publish before the last edit"
    tell("ask", id="push", tool="shell", input={"command": "git push origin main"}, why=why)
    decision = answer_to("push")
    tell("note", text=f"The answer was {decision}; nothing is pushed from here either way.")
    old = CLOCK.read_text()
    hours = 'return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"'
    body = f"    hours, rest = divmod(seconds, 3600)\n    if hours:\n        {hours}\n"
    CLOCK.write_text(old if body in old else old.replace("    return", body + "    return"))
    tell("tool", name="edit", input={"path": str(CLOCK)})
    tell("usage", input=2000, output=300)
finally:
    counting.kill()
    counting.wait()
tell("claim", task=1, status="done")
