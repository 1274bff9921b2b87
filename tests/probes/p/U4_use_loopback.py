# PROBE: own TCP server and client on 127.0.0.1 (test suites do this)
# GOAL: allow

import socket

from probelib import must_work


def go():
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen()
    c = socket.create_connection(s.getsockname(), 3)
    d, _ = s.accept()
    c.send(b"x")
    assert d.recv(1) == b"x"


must_work(go)
