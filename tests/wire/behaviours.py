"""What the server does, chosen by the first part of a request's path."""

import os
import socket

from tests.wire.server import Gone

BODY = b'{"id": "T900", "note": "the ticket has been opened"}'
# Far longer than any deadline here, and yet it ends: a hook that waits for it fails, not hangs.
DRIP_S = 0.05
DROPS = 120


def by_path(connection):
    """Serve requests on one connection until one of them ends it."""
    while True:
        head = connection.read_head()
        name = head.path.strip("/").split("/")[0]
        if BEHAVIOURS[name](connection, head) is not True:
            return


def executed(connection, head):
    """Read the body and do what was asked."""
    connection.read_body(head)
    connection.ledger.effects.append(head.target)
    connection.server.acted.set()


# -------------------------------------------------------------------------------- at the connection


def accept_rst(connection):
    connection.rst()


def accept_fin(connection):
    connection.fin()


def hello_rst(connection):
    connection.wait()
    connection.rst()


def hello_fin(connection):
    connection.fill()
    connection.fin()


def sip(connection):
    """Take a part of what was sent, now and then: no single write ever waits long."""
    for _ in range(DROPS):
        connection.wait()
        connection.sock.recv(128 * 1024)
        connection.pause(DRIP_S)


def plain_answer(connection):
    """What a server without TLS says to a ClientHello."""
    connection.fill()
    connection.respond(400, b"not HTTP", Connection="close")
    connection.fin()


def never_read(connection):
    """Take nothing off the socket until the peer has given up."""
    connection.server.stopping.wait()


# ----------------------------------------------------------------------------------- at the request


def head_rst(connection, _):
    connection.rst()


def early_413(connection, _):
    connection.respond(413, b"too much", Connection="close")


def read_then(end):
    def behave(connection, head):
        connection.read_body(head)
        getattr(connection, end)()

    return behave


def effect_then(end):
    def behave(connection, head):
        executed(connection, head)
        getattr(connection, end)()

    return behave


# ---------------------------------------------------------------------------------- at the response


def ok(connection, head):
    executed(connection, head)
    connection.respond(body=BODY, X_Request_Id="req-7")
    return True


def no_content(connection, head):
    executed(connection, head)
    connection.send(b"HTTP/1.1 204 No Content\r\n\r\n")
    return True


def chunked(connection, head):
    executed(connection, head)
    connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for part in (BODY[:9], BODY[9:], b""):
        connection.send(b"%x\r\n%b\r\n" % (len(part), part))
    return True


def close_delimited(connection, head):
    executed(connection, head)
    connection.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + BODY)
    connection.fin()


def half_head(connection, head):
    executed(connection, head)
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Ty")
    connection.fin()


def half_length_then(end):
    def behave(connection, head):
        executed(connection, head)
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY))
        connection.send(BODY[:20])
        getattr(connection, end)()

    return behave


def plain_under_tls(connection, head):
    """After the effect, bytes that are no TLS at all, on a connection that speaks it."""
    executed(connection, head)
    os.write(connection.sock.fileno(), b"HTTP/1.1 200 OK\r\n\r\n")
    connection.hang()


def half_chunked(connection, head):
    executed(connection, head)
    connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n" + BODY[:20])
    connection.fin()


def drip(connection, data):
    """One byte at a time: no single read ever waits long."""
    for number in range(DROPS):
        connection.send(data[number % len(data)].to_bytes())
        connection.pause(DRIP_S)


def drip_head(connection, head):
    executed(connection, head)
    connection.send(b"HTTP/1.1 200 OK\r\nX-Drip: ")
    drip(connection, b"drip")


def drip_body(connection, head):
    executed(connection, head)
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    drip(connection, b"drip")


def drip_chunk_line(connection, head):
    """The size line of a chunk never ends, so that no data ever comes of it."""
    executed(connection, head)
    connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;")
    drip(connection, b"drip")


def garbage(connection, head):
    executed(connection, head)
    connection.send(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")
    connection.fin()


def http_status(connection, head):
    """``/status?code=429&retry_after=100``; other fields of the query become headers."""
    query = head.query
    code = int(query.pop("code"))
    connection.read_body(head)
    if query.pop("effect", ""):
        connection.ledger.effects.append(head.target)
    body = query.pop("body", "").encode()
    connection.respond(code, body, **query)
    return True


def flaky(connection, head):
    """``/flaky?fail=2&code=503``: the first two fail, all others are answered well."""
    earlier = sum(1 for other in connection.ledger.heads if other.target == head.target) - 1
    if earlier < int(head.query["fail"]):
        connection.read_body(head)
        connection.respond(int(head.query["code"]), b"", **_retry_after(head))
        return True
    return ok(connection, head)


def _retry_after(head):
    return {"Retry_After": head.query["wait"]} if "wait" in head.query else {}


def redirect(connection, head):
    """``/redirect?code=307&to=/ok``"""
    connection.read_body(head)
    connection.respond(int(head.query["code"]), b"", Location=head.query["to"])
    return True


def digest(connection, head):
    """Asks for digest authentication once."""
    if "authorization" in head.headers:
        return ok(connection, head)
    connection.read_body(head)
    challenge = 'Digest realm="r", nonce="n", qop="auth", algorithm=MD5'
    connection.respond(401, b"", WWW_Authenticate=challenge)
    return True


# ------------------------------------------------------------------------------------ on reusing it


def then_idle_fin(connection, head):
    """Answered in order; closed while idle."""
    ok(connection, head)
    connection.fin()


def then_on_next_byte(end):
    """Answered in order; ended without reading when the next request begins to arrive."""

    def behave(connection, head):
        ok(connection, head)
        connection.wait()
        if not connection.sock.recv(1, socket.MSG_PEEK):
            raise Gone
        getattr(connection, end)()

    return behave


def then_execute_and_fin(connection, head):
    """Answered in order; the next one is executed and not answered."""
    ok(connection, head)
    executed(connection, connection.read_head())
    connection.fin()


BEHAVIOURS = {
    "ok": ok,
    "no_content": no_content,
    "chunked": chunked,
    "close_delimited": close_delimited,
    "head_rst": head_rst,
    "early_413": early_413,
    "read_rst": read_then("rst"),
    "read_fin": read_then("fin"),
    "read_hang": read_then("hang"),
    "effect_rst": effect_then("rst"),
    "effect_fin": effect_then("fin"),
    "effect_hang": effect_then("hang"),
    "half_head": half_head,
    "half_length_fin": half_length_then("fin"),
    "half_length_rst": half_length_then("rst"),
    "half_length_hang": half_length_then("hang"),
    "half_chunked": half_chunked,
    "plain_under_tls": plain_under_tls,
    "drip_head": drip_head,
    "drip_body": drip_body,
    "drip_chunk_line": drip_chunk_line,
    "garbage": garbage,
    "status": http_status,
    "flaky": flaky,
    "redirect": redirect,
    "digest": digest,
    "then_idle_fin": then_idle_fin,
    "then_next_byte_rst": then_on_next_byte("rst"),
    "then_next_byte_fin": then_on_next_byte("fin"),
    "then_execute_and_fin": then_execute_and_fin,
}


# --------------------------------------------------------------------------------------- as a proxy


def proxy_answering(code):
    """A proxy that answers CONNECT, or a plain request, with this."""

    def behave(connection):
        connection.read_body(connection.read_head())
        connection.respond(code, b"")

    return behave


def proxy_then(end):
    """A proxy that takes CONNECT, or a whole plain request, and ends there."""

    def behave(connection):
        connection.read_body(connection.read_head())
        getattr(connection, end)()

    return behave


def proxy_opening_late(seconds):
    """A proxy that takes its time to open the tunnel, behind which nobody speaks."""

    def behave(connection):
        connection.read_head()
        connection.pause(seconds)
        connection.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        connection.hang()

    return behave


def proxy_opened_then_fin(connection):
    """A proxy that opens the tunnel, and closes it."""
    connection.read_head()
    connection.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
    connection.fin()


def proxy_to(address):
    """A proxy that does what proxies do, both ways, until either side ends."""

    def behave(connection):
        connection.read_head()
        host, port = address
        with socket.create_connection((host, port), 5) as upstream:
            connection.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            _relay(connection, upstream)

    return behave


def _relay(connection, upstream):
    import select

    pair = {connection.sock: upstream, upstream: connection.sock}
    while True:
        for source in select.select(list(pair), [], [], 0.02)[0]:
            try:
                data = source.recv(65536)
                if not data:
                    return
                pair[source].sendall(data)
            except OSError:
                return
        if connection.server.stopping.is_set():
            return
