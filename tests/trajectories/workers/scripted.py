"""A worker that does what a script says: steps for each iteration, the last ones again when there are no more.

Every call that it tells of is really made: files are read and written, commands run, questions asked, models asked.
"""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from itertools import count
from pathlib import Path

SCRIPT = json.loads(Path("tools/script.json").read_text())
NUMBERS = count(1)
CUT = 400


def say(kind, **fields):
    print(json.dumps({"proctor": kind, **fields}), flush=True)


def begin(tool, given):
    name = f"c{next(NUMBERS)}"
    say("tool", id=name, name=tool, input=given)
    return name


def end(name, ok, output):
    say("result", id=name, ok=ok, output=output[:CUT])


def carry_out(tool, given, content):
    """Whether it worked, and what it said."""
    try:
        if tool == "shell":
            ran = subprocess.run(given["command"], shell=True, capture_output=True, text=True, check=False)
            return ran.returncode == 0, ran.stdout + ran.stderr
        path = Path(given["path"])
        if tool == "edit":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
            return True, f"{len(content.splitlines())} lines written"
        return True, "\n".join(sorted(os.listdir(path))) if path.is_dir() else path.read_text()
    except OSError as error:
        return False, f"{type(error).__name__}: {error.strerror}: {error.filename}"


def call(tool, given, content=""):
    name = begin(tool, given)
    end(name, *carry_out(tool, given, content))


def batch(calls):
    """All are begun before any comes to something."""
    begun = [(begin(tool, given), tool, given) for tool, given in calls]
    for name, tool, given in begun:
        end(name, *carry_out(tool, given, ""))


def ask(tool, given, why):
    name = f"q{next(NUMBERS)}"
    say("ask", id=name, tool=tool, input=given, why=why)
    answer = json.loads(ANSWERS.readline())
    say("note", text=f"the answer is {answer['decision']}")
    if answer["decision"] == "allow":
        call(tool, given)


def model(text):
    """Ask the model; whether it answered."""
    body = {"model": os.environ["PROCTOR_MODEL"], "max_tokens": 50, "messages": [{"role": "user", "content": text}]}
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode())
    request.add_header("content-type", "application/json")
    request.add_header("x-api-key", os.environ["ANTHROPIC_API_KEY"])
    request.add_header("anthropic-version", "2023-06-01")
    try:
        with urllib.request.urlopen(request) as answer:
            answer.read()
        return True
    except (urllib.error.URLError, OSError) as error:
        say("note", text=f"no answer from the model: {error}")
        return False


def act(kind, *of):
    """One step; False ends the iteration."""
    match kind:
        case "read" | "search":
            call(kind, {"path": of[0]})
        case "edit":
            call("edit", {"path": of[0]}, of[1])
        case "shell":
            call("shell", {"command": of[0]})
        case "batch":
            batch(of[0])
        case "ask":
            ask(*of)
        case "model":
            return model(of[0])
        case "use":
            say("usage", model=os.environ.get("PROCTOR_MODEL"), input=of[0], output=of[1])
        case "claim":
            say("claim", status=of[0])
        case "note":
            say("note", text=of[0])
        case "wait":
            time.sleep(of[0])
        case "exit":
            sys.exit(of[0])
    return True


def turn():
    """Which iteration this is, counted where no checkpoint holds it."""
    counter = Path(SCRIPT["counter"])
    number = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(number + 1))
    return number


sys.stdin.read()
ANSWERS = Path(os.environ["PROCTOR_ANSWERS"]).open() if SCRIPT["asks"] else None  # noqa: SIM115
for step in SCRIPT["iterations"][min(turn(), len(SCRIPT["iterations"]) - 1)]:
    if not act(*step):
        break
