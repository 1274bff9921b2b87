"""A model that says one sentence in every dialect, on loopback. It writes its port and what it was asked into files."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SAID = "The stub has spoken."
PORT, ASKED = map(Path, sys.argv[1:3])


def messages(body):
    yield "message_start", {
        "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    }  # fmt: skip
    yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
    yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": SAID}}
    yield "content_block_stop", {"index": 0}
    yield (
        "message_delta",
        {
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
    )
    yield "message_stop", {}


def responses(_):
    message = {"type": "message", "id": "m_1", "role": "assistant", "content": [{"type": "output_text", "text": SAID}]}
    usage = {
        "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 6,
    }  # fmt: skip
    yield "response.created", {"response": {"id": "r_1"}}
    yield "response.output_item.done", {"output_index": 0, "item": message}
    yield "response.completed", {"response": {"id": "r_1", "usage": usage}}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer("application/json", b'{"data": []}')

    def do_POST(self):
        text = self.rfile.read(int(self.headers["content-length"]))
        with ASKED.open("ab") as file:
            file.write(text + b"\n")
        body = json.loads(text)
        if "streamGenerateContent" in self.path:
            part = {
                "candidates": [
                    {"content": {"role": "model", "parts": [{"text": SAID}]}, "finishReason": "STOP", "index": 0}
                ],
                "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 5, "totalTokenCount": 6},
            }
            return self.answer("text/event-stream", f"data: {json.dumps(part)}\n\n".encode())
        events = responses(body) if "/responses" in self.path else messages(body)
        lines = (f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n" for kind, data in events)
        return self.answer("text/event-stream", "".join(lines).encode())

    def answer(self, kind, content):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
PORT.with_suffix(".new").write_text(str(server.server_port))
PORT.with_suffix(".new").rename(PORT)
server.serve_forever()
