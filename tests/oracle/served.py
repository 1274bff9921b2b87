"""A server that misbehaves in the way its first argument says; the port is the second."""

import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

HOW, PORT = sys.argv[1], int(sys.argv[2])


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(302 if HOW == "redirects" else 200)
        self.send_header("Location", "http://elsewhere.example/")
        if HOW == "breaks off":
            self.send_header("Content-Length", "1000")
        self.end_headers()
        while HOW == "endless":
            self.wfile.write(bytes(1 << 16))
        while HOW == "drips":
            self.wfile.write(b".")
            time.sleep(0.1)
        self.wfile.write(b"<h1>Hello</h1>")


if HOW == "dies":
    sys.exit(3)
if HOW == "never listens":
    time.sleep(60)
if HOW == "talks":
    import socket

    with socket.create_server(("127.0.0.1", PORT)) as line:
        while True:
            line.accept()[0].sendall(b"hello\r\n\r\n")
HTTPServer(("127.0.0.1", PORT), Page).serve_forever()
