# PROBE: what build tools take for granted: names, user, time, links, locks, pipes, sqlite, programs in /tmp, asyncio
# GOAL: allow
import asyncio
import fcntl
import getpass
import os
import socket
import sqlite3
import subprocess
import threading
import time

from probelib import CFG, must_work


async def child():
    process = await asyncio.create_subprocess_exec("/bin/echo", "hi", stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    assert said == b"hi\n"


def go():
    ws = CFG["ws"]
    assert socket.gethostbyname("localhost") == "127.0.0.1"
    assert socket.gethostbyname(socket.gethostname())
    getpass.getuser()
    time.localtime()
    os.symlink("app.py", ws + "/src/link.py")
    os.link(ws + "/src/app.py", ws + "/src/hard.py")
    os.mkfifo(ws + "/src/fifo")
    with open(os.fsencode(ws) + b"/src/odd\n\xff name", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
    base = sqlite3.connect(ws + "/data.db")
    base.execute("pragma journal_mode=wal")
    base.execute("create table t (a)")
    base.close()
    program = "/tmp/" + CFG["tag"]
    open(program, "w").write("#!/bin/sh\nexit 0\n")
    os.chmod(program, 0o755)
    subprocess.run([program], check=True)
    open(os.environ["HOME"] + "/.cache-of-mine", "w").write("x")
    threads = [threading.Thread(target=time.sleep, args=(0.05,)) for _ in range(32)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    asyncio.run(child())


must_work(go)
