"""A caller without any HTTP library: it hears exactly what the wire did."""

import json
import socket
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Heard:
    """How an exchange ended: `whole`, `truncated`, `fin`, `reset` or `timeout`."""

    end: str
    http: int | None = None
    headers: dict = field(default_factory=dict)
    body: object = None

    @property
    def code(self):
        return self.body["error"]["code"]


class Caller:
    """One connection to a World, for one or more requests."""

    def __init__(self, url, timeout_s=5.0):
        parts = urlsplit(url)
        self.sock = socket.create_connection((parts.hostname, parts.port), timeout=timeout_s)
        self.got = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, method, target, body=b"", **headers):
        lines = [f"{method} {target} HTTP/1.1", "Host: world", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.sock.sendall("\r\n".join([*lines, "", ""]).encode() + body)

    def hear(self):
        try:
            while b"\r\n\r\n" not in self.got:
                if not self._more():
                    return Heard("fin")
            head, _, self.got = self.got.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}
            http, length = int(first.split()[1]), int(headers["content-length"])
            while len(self.got) < length:
                if not self._more():
                    return Heard("truncated", http, headers, self.got)
        except TimeoutError:
            return Heard("timeout")
        except ConnectionResetError:
            return Heard("reset")
        body, self.got = self.got[:length], self.got[length:]
        return Heard("whole", http, headers, json.loads(body) if body else None)

    def _more(self):
        more = self.sock.recv(65536)
        self.got += more
        return more

    def post(self, collection, args, key=None, **headers):
        keyed = {} if key is None else {"Idempotency_Key": key}
        self.send("POST", f"/{collection}", json.dumps(args).encode(), **keyed, **headers)
        return self.hear()

    def get(self, target):
        self.send("GET", target)
        return self.hear()


def post(world, collection, args, key=None, timeout_s=5.0):
    """One create on a connection of its own."""
    with Caller(world.url, timeout_s) as caller:
        return caller.post(collection, args, key)


def get(world, target, timeout_s=5.0):
    """One read on a connection of its own."""
    with Caller(world.url, timeout_s) as caller:
        return caller.get(target)


def look_up(world, collection, key, timeout_s=5.0):
    """One look-up by key on a connection of its own."""
    return get(world, f"/{collection}?request={key}", timeout_s)
