"""A model behind HTTP that says what it was told to, on Anthropic's, OpenAI's and Google's wire.

The SDKs are pointed at it by their base_url, and notice nothing.
"""

import functools
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Endpoint:
    """A scripted model. `requests` are the bodies that it was asked with."""

    def __init__(self):
        self.requests = []
        self._says = []
        self._errors = 0
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.answer(self, body)

            def log_message(self, *args):
                """Tests tell enough."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def script(self, says):
        self._says, self.requests = list(says), []
        self._errors = self._says[0].errors if self._says else 0

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def answer(self, handler, body):
        self.requests.append(body)
        if self._errors:
            self._errors -= 1
            return send(handler, 500, {"error": {"message": "busy"}}, {"retry-after-ms": "1"})
        say = self._says.pop(0)
        self._errors = self._says[0].errors if self._says else 0
        whole, events = FORMS[handler.path.partition("?")[0].rpartition("/")[2]](say)
        if body.get("stream") or "stream" in handler.path:
            return stream(handler, events[:-1] if say.breaks else events)
        return send(handler, 200, whole)


@functools.cache
def endpoint():
    """One for all of a process; its threads end with it."""
    return Endpoint()


def send(handler, http, value, headers=()):
    data = json.dumps(value).encode()
    handler.send_response(http)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data)))
    for name, text in dict(headers).items():
        handler.send_header(name, text)
    handler.end_headers()
    handler.wfile.write(data)


def stream(handler, events):
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Connection", "close")
    handler.end_headers()
    for name, value in events:
        text = value if isinstance(value, str) else json.dumps(value)
        head = f"event: {name}\n" if name else ""
        handler.wfile.write(f"{head}data: {text}\n\n".encode())
    handler.close_connection = True


def pieces(text, size=7):
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def read_or_empty(text):
    """What a server makes of arguments: it gives an object, whatever the model wrote."""
    try:
        return json.loads(text)
    except ValueError:
        return {}


# ------------------------------------------------------------------------------------- Anthropic


def anthropic(say):
    reason = "max_tokens" if say.cut else "tool_use" if say.calls else "end_turn"
    content = [{"type": "text", "text": say.text}] if say.text else []
    content += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": read_or_empty(call.text)}
        for call in say.calls
    ]
    usage = {"input_tokens": 1, "output_tokens": 1}
    base = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "usage": usage,
        "stop_sequence": None,
    }  # fmt: skip
    whole = {**base, "content": content, "stop_reason": reason}
    events = [{"type": "message_start", "message": {**base, "content": [], "stop_reason": None}}]
    texts = [call.text for call in say.calls]
    for index, block in enumerate(content):
        is_text = block["type"] == "text"
        empty = {**block, "text": ""} if is_text else {**block, "input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        for piece in pieces(block["text"] if is_text else texts[index - len(content)]):
            delta = (
                {"type": "text_delta", "text": piece} if is_text
                else {"type": "input_json_delta", "partial_json": piece}
            )  # fmt: skip
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    ends = {"stop_reason": reason, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ends, "usage": {"output_tokens": 1}})
    events.append({"type": "message_stop"})
    return whole, [(event["type"], event) for event in events]


# ---------------------------------------------------------------------------------------- OpenAI


def chat(say):
    reason = "length" if say.cut else "tool_calls" if say.calls else "stop"
    made = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
        for call in say.calls
    ]
    message = {"role": "assistant", "content": say.text or None}
    base = {"id": "chatcmpl-1", "created": 1, "model": "scripted"}
    whole = {
        **base, "object": "chat.completion",
        "choices": [{
            "index": 0, "finish_reason": reason,
            "message": {**message, "tool_calls": made} if made else message,
        }],
    }  # fmt: skip
    deltas = [{"role": "assistant", "content": say.text or None}]
    for index, call in enumerate(made):
        name = {"name": call["function"]["name"], "arguments": ""}
        deltas.append({"tool_calls": [{**call, "index": index, "function": name}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in pieces(call["function"]["arguments"])
        ]
    chunks = [
        {
            **base, "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
        }
        for delta in deltas
    ]  # fmt: skip
    ends = [{"index": 0, "delta": {}, "finish_reason": reason}]
    chunks.append({**base, "object": "chat.completion.chunk", "choices": ends})
    events = [("", chunk) for chunk in chunks]
    return whole, events if say.breaks else [*events, ("", "[DONE]")]


def responses(say):
    output = []
    if say.text:
        text = {"type": "output_text", "text": say.text, "annotations": []}
        output.append({
            "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
            "content": [text],
        })  # fmt: skip
    state = "incomplete" if say.cut else "completed"
    output += [
        {
            "id": f"fc_{call.id}", "type": "function_call", "call_id": call.id, "name": call.name,
            "arguments": call.text, "status": state,
        }
        for call in say.calls
    ]  # fmt: skip
    whole = {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "scripted",
        "status": state, "output": output, "parallel_tool_calls": True, "tool_choice": "auto",
        "tools": [], "incomplete_details": {"reason": "max_output_tokens"} if say.cut else None,
    }  # fmt: skip
    started = {**whole, "status": "in_progress", "output": []}
    events = [{"type": "response.created", "response": started}]
    for index, item in enumerate(output):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        if item["type"] == "message":
            events += [
                {
                    "type": "response.output_text.delta", "output_index": index, "item_id": "msg_1",
                    "content_index": 0, "delta": piece, "logprobs": [],
                }
                for piece in pieces(say.text)
            ]  # fmt: skip
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": f"response.{state}", "response": whole})
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    return whole, [(event["type"], event) for event in numbered]


# ---------------------------------------------------------------------------------------- Gemini

METHODS = ("generateContent", "streamGenerateContent")


def gemini(say):
    parts = [{"text": say.text}] if say.text else []
    parts += [
        {"functionCall": {"id": call.id, "name": call.name, "args": read_or_empty(call.text)}}
        for call in say.calls
    ]
    candidate = {
        "content": {"role": "model", "parts": parts}, "index": 0,
        "finishReason": "MAX_TOKENS" if say.cut else "STOP",
    }  # fmt: skip
    whole = {"candidates": [candidate], "modelVersion": "scripted", "responseId": "r1"}
    return whole, [("", whole)]


FORMS = {"messages": anthropic, "completions": chat, "responses": responses}
FORMS |= {f"gemini-scripted:{method}": gemini for method in METHODS}
