"""A worker that looks and decides: it runs the check, reads what fails, and goes on as its temper is.

What it does follows from the tree that it finds and from its seed, so nobody wrote down what comes out.
"""

import json
import random
import re
import subprocess
import sys
from pathlib import Path

SCRIPT = json.loads(Path("tools/script.json").read_text())
MODULE, TESTS = Path(SCRIPT["module"]), Path(SCRIPT["tests"])
COUNTER = Path(SCRIPT["counter"])
TURN = int(COUNTER.read_text()) if COUNTER.exists() else 0
COUNTER.write_text(str(TURN + 1))
RANDOM = random.Random(f"{SCRIPT['seed']}/{TURN}")
WORDS = ["row", "part", "turn", "value", "table", "next", "rest", "sum", "unit", "edge"]


def say(kind, **fields):
    print(json.dumps({"proctor": kind, **fields}), flush=True)


def shell(command):
    say("tool", name="shell", input={"command": command, "description": RANDOM.choice(WORDS)})
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    said = ran.stdout + ran.stderr
    say("result", ok=ran.returncode == 0, output=said[-300:])
    return said


def read(path):
    say("tool", name="read", input={"path": str(path)})
    text = path.read_text()
    say("result", ok=True, output=text[:300])
    return text


def write(values, remarks=0):
    """The module with these values; `remarks` lines more make it another."""
    text = MODULE.read_text()
    for name, value in values.items():
        text = re.sub(rf"(def {name}\(\):\n    return )-?\d+", rf"\g<1>{value}", text)
    text += "".join(f"# {' '.join(RANDOM.choices(WORDS, k=6))}\n" for _ in range(remarks))
    MODULE.write_text(text)
    say("tool", name="write", input={"path": str(MODULE), "content": text[-200:]})
    say("result", ok=True, output=f"{len(text)} bytes")


def look():
    """What is wanted, and which of it fails."""
    wanted = dict(re.findall(r"\.(\w+)\(\), (\d+)\)", read(TESTS)))
    said = shell(SCRIPT["check"])
    fails = [name for name in wanted if f"test_{name} " in said]
    return {name: int(value) for name, value in wanted.items()}, fails


def careful(wanted, fails):
    write({name: wanted[name] for name in fails[: RANDOM.randint(1, 2)]})


def thorough(wanted, fails):
    """Reads and tidies up first, every second time."""
    if TURN % 2 == 0:
        for path in sorted(Path("library").glob("*.md")):
            read(path)
        write({}, remarks=RANDOM.randint(2, 12))
    else:
        write({name: wanted[name] for name in fails[:3]})


def clumsy(wanted, fails):
    """Two steps forward, one back."""
    broken = [name for name in wanted if name not in fails][:1] if len(fails) > 2 else []
    write({**{name: wanted[name] for name in fails[:2]}, **{name: wanted[name] + 5 for name in broken}})


def stubborn(wanted, fails):
    """Always the same place, always another wrong value."""
    write({fails[0]: wanted[fails[0]] + RANDOM.randint(1, 900)}, remarks=RANDOM.randint(0, 6))


def forgetful(wanted, fails):
    """Mends one thing and loses the one before."""
    names = list(wanted)
    kept = TURN % len(names)
    write({name: value + (at != kept) for at, (name, value) in enumerate(wanted.items())}, remarks=1)


def wandering(wanted, fails):
    """Never more right than at first, and never the same."""
    right = set(RANDOM.sample(list(wanted), 2 if TURN == 0 else RANDOM.randint(1, 2)))
    write({name: value + (name not in right) * RANDOM.randint(1, 9) for name, value in wanted.items()})


def hesitant(wanted, fails):
    """Runs the check over and over."""
    for _ in range(SCRIPT.get("times", 8)):
        shell(SCRIPT["check"])


def timid(wanted, fails):
    write({fails[0]: wanted[fails[0]] + 1 + TURN}, remarks=max(0, 40 // 3**TURN))


brief = sys.stdin.read()
globals()[SCRIPT["temper"]](*look())
say("usage", input=len(brief) // 4 + RANDOM.randint(2_000, 9_000), output=RANDOM.randint(100, 900))
say("claim", status="done")
