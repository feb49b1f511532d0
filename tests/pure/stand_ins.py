"""Exceptions of libraries that need not be installed, and the news of an invocation."""

from __future__ import annotations

from ascertain.model.contract import Contract
from ascertain.model.outcome import Report, WireTrace
from ascertain.rules.news.classify import classify

NOW = 1_800_000_000.0
TICKETS = Contract(tool="create_ticket", noun="ticket", identity=("order_id",))
SEARCH = Contract(tool="search", noun="order", access="read")
BY_CRM = Contract(tool="create_ticket", noun="ticket", identity=("order_id",), via=("crm",))
URL = "POST crm.example/tickets"


def stand_in(name, /, *args, base=Exception, **attributes):
    """An exception (or another thing) whose class has this module and name, as in the library."""
    module, _, leaf = name.rpartition(".")
    made = type(leaf, (base,), {"__module__": module})
    thing = made(*args)
    for attribute, value in attributes.items():
        setattr(thing, attribute, value)
    return thing


def thing(name="plain.Thing", /, **attributes):
    """Anything that is no exception, with a module and a class name."""
    return stand_in(name, base=object, **attributes)


def caused(error, cause):
    """The error, raised `from` its cause."""
    error.__cause__ = cause
    return error


def within(error, context):
    """The error, raised while another one was being handled."""
    error.__context__ = context
    return error


def raised(error):
    """The same error with a traceback, as if a body had raised it."""
    try:
        raise error
    except BaseException as caught:
        return caught


def trace(**changes):
    """One POST on a watched client, answered with 201 and read whole."""
    seen = {
        "sends": 1,
        "left": True,
        "answered": True,
        "http_status": 201,
        "complete": True,
        "unsafe": True,
        "targets": (URL,),
        "exits": frozenset({"crm"}),
    }
    return WireTrace(**{**seen, **changes})


def answered(http_status, **changes):
    return trace(http_status=http_status, **changes)


def refused_connection(**changes):
    """One POST that never left."""
    return trace(
        **{"left": False, "answered": False, "http_status": None, "complete": None, **changes}
    )


def lost_reply(**changes):
    """One POST that left and got no answer."""
    return trace(**{"answered": False, "http_status": None, "complete": None, **changes})


def judge(error=None, *, contract=TICKETS, **news):
    """Judge an invocation that raised (or, without an error, returned)."""
    return classify(Report(error=error, **news), contract, now=NOW)


def response(http_status, body=None, headers=(), **attributes):
    """A response object as the HTTP clients have it; `body` None: it is no JSON."""

    def json():
        if body is None:
            raise ValueError("no JSON")
        return body

    return thing(
        "client.Response", status_code=http_status, headers=dict(headers), json=json, **attributes
    )


def http_error(http_status, body=None, headers=(), name="httpx.HTTPStatusError", **attributes):
    """What `raise_for_status` raises."""
    return stand_in(name, response=response(http_status, body, headers), **attributes)


def coded(code, **more):
    return {"error": {"code": code, **more}}
