# PROBE: trace a child of its own, as debuggers do
# GOAL: allow
import os
import signal

from probelib import must_work, sysc


def go():
    pid = os.fork()
    if pid == 0:
        sysc("ptrace", 0, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(7)
    os.waitpid(pid, 0)
    done, _ = sysc("ptrace", 7, pid, 0, 0)
    assert done == 0
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


must_work(go)
