"""A scripted model behind HTTP, for examples without a key: it answers what it was given."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def scripted_model(*replies):
    """The address of a server that gives these replies, one for each request."""
    left = list(replies)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            streams = asked.get("stream")
            data = (streamed if streams else json.dumps)(left.pop(0)).encode()
            self.send_response(200)
            kind = "text/event-stream" if streams else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            """Nothing to tell."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def says(*content):
    """A message of a scripted model, on Anthropic's wire."""
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted",
        "content": list(content), "stop_sequence": None,
        "stop_reason": "tool_use" if content[0]["type"] == "tool_use" else "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def streamed(message):
    """A message on Anthropic's wire, in pieces."""
    events = [{"type": "message_start", "message": {**message, "content": []}}]
    for index, block in enumerate(message["content"]):
        is_text = block["type"] == "text"
        begun = {**block, "text": ""} if is_text else {**block, "input": {}}
        delta = (
            {"type": "text_delta", "text": block["text"]} if is_text
            else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        )  # fmt: skip
        events += [
            {"type": "content_block_start", "index": index, "content_block": begun},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    ends = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events += [
        {"type": "message_delta", "delta": ends, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
