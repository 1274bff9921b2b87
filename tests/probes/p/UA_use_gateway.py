# PROBE: reach the model gateway: unix socket, and http://127.0.0.1:PORT through the forwarder
# GOAL: allow
# CONTROL: gateway
import os
import socket
import urllib.request

from probelib import CFG, must_work, skip

if not os.path.exists(CFG["gateway_sock"]):
    skip("gateway socket not mounted here")


def go():
    s = socket.socket(socket.AF_UNIX)
    s.connect(CFG["gateway_sock"])
    s.sendall(b"GET /ping HTTP/1.0\r\n\r\n")
    assert b"pong" in s.recv(4096)
    base = os.environ.get("ANTHROPIC_BASE_URL")
    if base:
        r = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(base + "/ping", timeout=3).read()
        assert b"pong" in r
        return "unix + " + base
    return "unix only"


must_work(go)
