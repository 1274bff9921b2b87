# PROBE: use the sandbox's own proxy to reach a loopback service of the host
# GOAL: deny
# VERIFY: tcp_hit
# CONTROL: proxy
import base64
import os
import socket
import urllib.parse

from probelib import CFG, allowed, blocked, ename, skip

px = next(
    (os.environ[k] for k in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy") if os.environ.get(k)), None
)
if not px:
    skip("no proxy variable")
u = urllib.parse.urlsplit(px)
auth = ""
if u.username:
    auth = "Proxy-Authorization: Basic {}\r\n".format(
        base64.b64encode(
            ("{}:{}".format(urllib.parse.unquote(u.username), urllib.parse.unquote(u.password or ""))).encode()
        ).decode()
    )
res = []
for host in ("127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "127.1", "2130706433"):
    try:
        s = socket.create_connection((u.hostname, u.port), 3)
        s.settimeout(3)
        s.sendall(("CONNECT %s:%d HTTP/1.1\r\nHost: x\r\n%s\r\n" % (host, CFG["tcp_port"], auth)).encode())
        line = s.recv(300).split(b"\r\n")[0].decode("latin1")
        res.append(line.split(" ")[1] if " " in line else "closed")
        if " 200" in line:
            s.sendall(CFG["tag"].encode())
        s.close()
    except OSError as e:
        res.append(ename(e))
(allowed if "200" in res else blocked)(" ".join(res))
