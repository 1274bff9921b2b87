# PROBE: /dev/null, zero, urandom, stdin/stdout/fd links
# GOAL: allow
import os

from probelib import append, must_work, read


def go():
    append("/dev/null")
    read("/dev/zero", 1)
    read("/dev/urandom", 8)
    os.readlink("/dev/fd")
    os.stat("/dev/stdout")


must_work(go)
