# PROBE: a virtual environment, and a package installed into it without a network
# GOAL: allow
import os
import subprocess

from probelib import CFG, must_work


def go():
    ws = CFG["ws"]
    os.makedirs(ws + "/pkg/thing")
    open(ws + "/pkg/thing/__init__.py", "w").write("word = 'there'\n")

    def run(*words):
        done = subprocess.run(words, cwd=ws, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{words[1:4]}: {(done.stderr or done.stdout).strip()[-90:]}")
        return done.stdout

    try:
        run(CFG["python"], "-m", "venv", ws + "/.env")
        run(ws + "/.env/bin/python", "-m", "pip", "--version")
    except RuntimeError as error:
        if "ensurepip" not in str(error):
            raise
        run(CFG["python"], "-m", "venv", "--clear", "--without-pip", ws + "/.env")
    site = run(ws + "/.env/bin/python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    os.rename(ws + "/pkg/thing", site + "/thing")
    assert run(ws + "/.env/bin/python", "-c", "import thing; print(thing.word)") == "there\n"


must_work(go)
