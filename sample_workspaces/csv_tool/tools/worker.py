"""A scripted worker: what an agent would do for these five tasks, without a model.

It speaks the protocol of a `command` worker (the brief on stdin, JSON lines on stdout, answers on the FIFO named by
$PROCTOR_ANSWERS), really edits the code and really runs the tests. In task 2 it asks before it pushes. In task 3 it
first claims success without having run the tests.
"""

import difflib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent / "script"
READER, DIALECT, STATS, COMMAND = (
    Path("src/csv_tool") / name for name in ("reader.py", "dialect.py", "stats.py", "__main__.py")
)
MODEL = os.environ.get("PROCTOR_MODEL") or "claude-sonnet-4-5"
PAUSE = 0.45
"""Seconds between two steps, so that a person can follow."""

brief = sys.stdin.read()
task = os.environ["PROCTOR_TASK"]
context = len(brief) // 4


def tell(event, **fields):
    print(json.dumps({"proctor": event, **fields}), flush=True)


def think(output):
    """One model call: what was said before is read from the provider's cache."""
    global context
    time.sleep(PAUSE)
    tell("usage", model=MODEL, input=900, output=output, cache_read=context, cache_write=600)
    context += 600 + output


def say(text):
    think(120 + len(text))
    tell("note", text=text)


def read(path):
    think(140)
    tell("tool", name="read", input={"path": str(path)})


def edit(path, version):
    """Replace a file by the script's version of it."""
    old, new = path.read_text(), (SCRIPT / version).read_text()
    diff = [line for line in difflib.ndiff(old.splitlines(), new.splitlines()) if line[0] in "+-"]
    added = sum(line[0] == "+" for line in diff)
    think(200 + len(new) // 4)
    tell("tool", name="edit", input={"path": str(path), "added": added, "removed": len(diff) - added})
    path.write_text(new)


def shell(*argv):
    """Run a command and show what it said that matters."""
    think(150)
    tell("tool", name="shell", input={"command": " ".join(argv)})
    done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    said = (done.stdout + done.stderr).splitlines()
    for line in [line for line in said if line.startswith(("FAIL", "ERROR"))] or said[-1:]:
        print("  " + line, flush=True)
    print(f"  exit {done.returncode}", flush=True)


def test(name):
    shell("python", "-m", "unittest", f"tests.{name}")


def allowed(tool, argument, why):
    """Ask the operator; wait for the one line that answers. With nobody to ask the answer is no."""
    answers = os.environ.get("PROCTOR_ANSWERS")
    if not answers:
        return False
    tell("ask", id=f"{task}-1", tool=tool, input=argument, why=why)
    while True:
        with open(answers, encoding="utf-8") as lines:
            for line in lines:
                answer = json.loads(line)
                if answer["id"] == f"{task}-1":
                    return answer["decision"] == "allow"


def quoted_fields():
    read("specs/1.md")
    read(READER)
    say("Splitting cannot work once quotes count. This wants a small state machine.")
    edit(READER, "1/reader.py")
    test("test_quoting")


def dialect():
    read("specs/2.md")
    read(DIALECT)
    say("The right delimiter splits every row alike, so the parser itself can judge the candidates.")
    edit(DIALECT, "2/dialect.py")
    test("test_dialect")
    if allowed("shell", {"command": "git push origin main"}, "publish the reader before the next task"):
        shell("git", "push", "origin", "main")
    else:
        say("Not pushing: nothing leaves this machine.")


def stream():
    first_try = READER.read_text() == (SCRIPT / "3-first/reader.py").read_text()
    if not first_try and not re.search(r"\btask 3 (failed|timeout|infra)", brief):
        read("specs/3.md")
        edit(READER, "3-first/reader.py")
        say("Line by line, memory stays constant. That is all there is to it.")
        return
    say("My claim did not hold: the verdict was failed. First the tests, then the code.")
    test("test_stream")
    say("A line is not a row. The parser takes any characters, so it can be fed from chunks.")
    edit(READER, "3/reader.py")
    test("test_stream")


def statistics():
    read("specs/4.md")
    read(STATS)
    say("One pass, one object for each column; a single word turns the column into words.")
    edit(STATS, "4/stats.py")
    test("test_stats")


def command_line():
    read("specs/5.md")
    read(COMMAND)
    say("Only joining: detect on a sample, then stream the file.")
    edit(COMMAND, "5/__main__.py")
    test("test_command")
    shell("python", "-m", "unittest", "discover", "-t", ".", "-s", "tests")


{"1": quoted_fields, "2": dialect, "3": stream, "4": statistics, "5": command_line}[task]()
tell("claim", task=int(task), status="done")
