"""`ascertain lint`: what a declaration promises too little of, and who repeats below."""

import functools
import importlib
import json
import types

import boto3
import httpx
import pytest
import requests
import urllib3
from botocore.config import Config
from requests.adapters import HTTPAdapter

from ascertain import Absent, Ascertain, Breaker, Budget
from ascertain.report.lint import lint
from ascertain.report.reach import reach
from ascertain.report.retries import client_of, decorator_of
from tests.cli import more_clients as more
from tests.cli.more_clients import INSTALLED

AWS = {"region_name": "us-east-1", "aws_access_key_id": "x", "aws_secret_access_key": "x"}


@pytest.fixture
def app(here):
    return Ascertain("sqlite:///ledger.db", worker="none")


def rules(app, severity=None):
    """The rules that an app breaks, by severity."""
    return {f.rule for f in lint(app) if severity in (None, f.severity)}


def one(app, rule):
    (found,) = [f for f in lint(app) if f.rule == rule]
    return found


# ---------------------------------------------------------------------------------- declarations


def test_a_write_with_neither_key_nor_look_up_ends_in_review_when_its_answer_is_lost(app):
    @app.tool(identity=["to"], undo="recall_mail")
    def send_mail(to: str) -> dict[str, str]:
        return {}

    assert rules(app) == {"blind-write"}
    found = one(app, "blind-write")
    assert (found.severity, found.tool) == ("warn", "send_mail")
    assert "ends in review" in found.sentence


def test_a_blind_best_effort_write_stays_open(app):
    @app.tool(identity=["to"], undo="recall_mail", on_unknown="leave")
    def send_mail(to: str) -> dict[str, str]:
        return {}

    assert "stays open for good" in one(app, "blind-write").sentence


def test_a_tool_that_promises_all_there_is_has_no_findings(app):
    @app.tool(identity=["order_id"], key_lifetime="48h", undo="cancel_ticket", undo_within="1d")
    def create_ticket(order_id: str) -> dict[str, str]:
        return {}

    @create_ticket.lookup(absence_final_after="10s")
    def find(_action):
        return Absent

    assert lint(app) == []


@pytest.mark.parametrize(
    "promises, rule, severity",
    [
        ({"key_lifetime": "48h"}, "key-without-lookup", "info"),
        ({"repeat": "by_key"}, "key-without-lifetime", "warn"),
        ({"key_lifetime": "1h"}, "horizon-beyond-key", "warn"),
        ({"repeat": "by_nature", "once_per": "tenant"}, "repeat-by-nature", "info"),
        ({"repeat": "harmless"}, "repeat-harmless", "info"),
        ({"key_lifetime": "48h", "identity": []}, "identity-undeclared", "info"),
        ({"key_lifetime": "48h", "undo": None}, "undo-undeclared", "info"),
        ({"budget": Budget(turn_s=30.0, send_deadline_s=2.0)}, "turn-beyond-lease", "warn"),
        ({"budget": Budget(turn_s=3.0, send_deadline_s=5.0)}, "deadline-beyond-turn", "info"),
    ],
)
def test_a_promise_is_weighed(app, promises, rule, severity):
    said = {"identity": ["order_id"], "undo": "cancel_ticket", **promises}

    @app.tool(**{name: value for name, value in said.items() if value is not None})
    def create_ticket(order_id: str) -> dict[str, str]:
        return {}

    assert one(app, rule).severity == severity
    plain = Ascertain("sqlite:///plain.db", worker="none")

    @plain.tool(identity=["order_id"], undo="cancel_ticket", key_lifetime="48h")
    def other_ticket(order_id: str) -> dict[str, str]:
        return {}

    assert rules(plain) <= {"key-without-lookup"}


@pytest.mark.parametrize(
    "promise, found",
    [({}, True), ({"absence_final_after": "5s"}, False), ({"fences": True}, False)],
)
def test_an_absence_that_never_becomes_final(app, promise, found):
    @app.tool(identity=["order_id"], undo="cancel_ticket")
    def create_ticket(order_id: str) -> dict[str, str]:
        return {}

    create_ticket.lookup(**promise)(lambda _action: Absent)
    assert ("absence-never-final" in rules(app, "warn")) is found


def test_reads_promise_nothing(app):
    @app.read()
    def get_order(order_id: str) -> dict[str, str]:
        return {}

    assert lint(app) == []


def test_an_observed_tool_is_named_as_one(app):
    @app.observe()
    def pay(to: str) -> dict[str, str]:
        return {}

    assert rules(app) == {"observed"}


def test_the_app_itself_is_looked_at(here):
    quick = Ascertain("sqlite:///ledger.db", lease_s=1.0, mode="observe")
    assert rules(quick, "bad") == {"lease-too-short"}
    assert rules(quick, "warn") == {"no-tools"}
    assert rules(quick, "info") == {"observe-mode"}
    assert not (here / "ledger.db").exists(), "lint opens nothing"


# --------------------------------------------------------------------------------- hidden retries


def hidden(client):
    return [found.what for found in client_of(client).hidden]


def mounted(**retry):
    session = requests.Session()
    session.mount("https://", HTTPAdapter(max_retries=urllib3.Retry(**retry)))
    return session


def sqs(**retries):
    return boto3.client("sqs", config=Config(retries=retries) if retries else None, **AWS)


QUIET = [
    httpx.Client,
    httpx.AsyncClient,
    requests.Session,
    lambda: mounted(total=0),
    lambda: mounted(total=False),
    lambda: mounted(total=3, connect=0, read=0, other=0, status=0),
    lambda: urllib3.PoolManager(retries=False),
    lambda: urllib3.PoolManager(retries=urllib3.Retry(0)),
    lambda: urllib3.PoolManager(retries=0),
    lambda: sqs(total_max_attempts=1),
    lambda: sqs(max_attempts=0),
]


@pytest.mark.parametrize("make", [*QUIET, *more.QUIET])
def test_clients_that_send_once(make):
    assert hidden(make()) == []


REPEATING = [
    (lambda: httpx.Client(transport=httpx.HTTPTransport(retries=3)), "again up to 3 times"),
    (lambda: mounted(total=4), "https:// sends again up to 4 times: DELETE, GET"),
    (lambda: mounted(total=2, allowed_methods=None), "any method after a lost answer"),
    (lambda: mounted(total=2, status_forcelist=[503]), "and after HTTP 503"),
    (lambda: mounted(total=None, connect=3, read=0), "without a total"),
    (urllib3.PoolManager, "by default it sends up to 3 times more"),
    (lambda: urllib3.PoolManager(retries=2), "up to 2 times"),
    (lambda: urllib3.PoolManager(retries=urllib3.Retry(5)), "sends again up to 5 times"),
    (lambda: urllib3.HTTPConnectionPool("localhost"), "up to 3 times"),
    (sqs, "(mode standard)"),
    (lambda: sqs(total_max_attempts=4), "up to 4 times in all"),
    (lambda: sqs(mode="legacy"), "(mode legacy)"),
    (lambda: boto3.resource("sqs", **AWS), "(mode standard)"),
]


@pytest.mark.parametrize("make, says", [*REPEATING, *more.REPEATING])
def test_clients_that_send_again_by_themselves(make, says):
    (found,) = hidden(make())
    assert says in found


def test_connecting_again_makes_no_second_effect():
    client = httpx.Client(transport=httpx.HTTPTransport(retries=3))
    assert [found.before_send for found in client_of(client).hidden] == [True]


def test_a_transport_of_another_kind_may_repeat():
    class Persistent(httpx.BaseTransport):
        pass

    assert "may send again" in hidden(httpx.Client(transport=Persistent()))[0]


def test_a_client_of_another_kind_is_none():
    assert client_of(object()) is None
    assert client_of(json.dumps) is None
    assert client_of(httpx) is None
    assert client_of(httpx.Client) is None


def made_by(name):
    """A function as the decorators of that library make them."""
    source = "def wrapper(*args): return args"
    return types.FunctionType(
        compile(source, name, "exec").co_consts[0], {"__name__": f"{name}._sync"}
    )


def again_by(name):
    """A body under the real decorator, where the library is installed."""
    if name not in INSTALLED:
        return made_by(name)
    library = importlib.import_module(name)
    decorator = {
        "backoff": lambda: library.on_exception(library.expo, OSError, max_tries=3),
        "stamina": lambda: library.retry(on=OSError, attempts=3),
        "tenacity": lambda: library.retry(stop=library.stop_after_attempt(3)),
    }[name]()

    @decorator
    def send_mail(to: str) -> dict[str, str]:
        return {}

    return send_mail


@pytest.mark.parametrize("name", ["backoff", "stamina", "tenacity"])
def test_a_decorator_that_calls_the_body_again(name):
    layers = [decorator_of(layer) for layer in reach(again_by(name)).layers]
    assert (
        layers[0].what == f"{name} calls the body again within one attempt, whatever the first "
        "call did"
    )
    assert layers[1:] in ([], [None]), "the body itself repeats nothing"


def test_a_decorator_that_repeats_weighs_as_a_client_does(app):
    @functools.wraps(by_plain)
    def repeating(to: str) -> dict[str, str]:
        return {}

    repeating.__wrapped__ = by_plain
    again = types.FunctionType(repeating.__code__, {"__name__": "tenacity"})
    again.__wrapped__ = by_plain
    again.__annotations__ = by_plain.__annotations__
    app.tool(name="send_mail", identity=["to"])(again)
    assert one(app, "retry-decorator").severity == "bad"


# ------------------------------------------------------------------- by what a body can be reached

persistent = requests.Session()
persistent.mount("https://", HTTPAdapter(max_retries=3))
clients = types.SimpleNamespace(crm=persistent)


class Desk:
    def __init__(self):
        self.crm = persistent

    def send(self, to: str) -> dict[str, str]:
        return self.crm.post("/mails", json={"to": to}).json()


def by_global(to: str) -> dict[str, str]:
    return persistent.post("/mails", json={"to": to}).json()


def by_attribute(to: str) -> dict[str, str]:
    return clients.crm.post("/mails", json={"to": to}).json()


def by_function(to: str) -> dict[str, str]:
    return by_global(to)


def by_default(to: str, *, crm: object = persistent) -> dict[str, str]:
    return crm.post("/mails", json={"to": to}).json()


def in_a_comprehension(to: str) -> list[dict[str, str]]:
    return [persistent.post("/mails", json={"to": one}).json() for one in to]


def in_a_closure():
    crm = persistent

    def send(to: str) -> dict[str, str]:
        return crm.post("/mails", json={"to": to}).json()

    return send


def decorated(body):
    @functools.wraps(body)
    def wrapper(*args, **kwargs):
        return body(*args, **kwargs)

    return wrapper


@pytest.mark.parametrize(
    "body",
    [
        by_global,
        by_attribute,
        by_function,
        in_a_comprehension,
        in_a_closure(),
        Desk().send,
        decorated(by_global),
    ],
    ids=["global", "attribute", "function", "comprehension", "closure", "method", "decorated"],
)
def test_a_client_is_found_by_whatever_way_the_body_gets_at_it(app, body):
    app.tool(name="send_mail", identity=["to"])(body)
    found = one(app, "hidden-retry")
    assert "up to 3 times" in found.sentence
    assert found.severity == "bad", "nothing makes a repeat of this write safe"


def test_a_partial_holds_its_client(app):
    def send(crm: object, to: str) -> dict[str, str]:
        return crm.post("/mails", json={"to": to}).json()

    found = reach(functools.partial(send, persistent))
    assert persistent in [reached.thing for reached in found.things.values()]


def test_how_bad_a_hidden_retry_is_depends_on_the_contract(app):
    app.tool(name="send_mail", identity=["to"], key_lifetime="48h")(by_global)
    app.tool(name="send_letter", identity=["to"], repeat="harmless")(by_attribute)
    app.read(name="get_mails")(by_function)
    weights = {f.tool: str(f.severity) for f in lint(app) if f.rule == "hidden-retry"}
    assert weights == {"send_mail": "warn", "send_letter": "warn", "get_mails": "info"}


class Sender:
    def __init__(self):
        self.crm = persistent

    def __call__(self, to: str) -> dict[str, str]:
        return self.crm.post("/mails", json={"to": to}).json()


def not_yet():
    def send(to: str) -> dict[str, str]:
        return crm.post("/mails", json={"to": to}).json()

    found = reach(send)
    crm = persistent
    return found, send


def test_an_object_that_is_called_holds_its_client():
    assert persistent in [reached.thing for reached in reach(Sender()).things.values()]


def test_a_closure_that_is_not_filled_yet_holds_nothing():
    before, send = not_yet()
    assert persistent not in [reached.thing for reached in before.things.values()]
    assert persistent in [reached.thing for reached in reach(send).things.values()]


def test_nothing_is_run_to_find_a_client(app):
    class Shy:
        @property
        def crm(self):
            raise AssertionError("a property was run")

    shy = Shy()

    @app.tool(identity=["to"])
    def send_mail(to: str) -> dict[str, str]:
        return shy.crm.post("/mails")

    assert "hidden-retry" not in rules(app)


# -------------------------------------------------------------------------------- unwatched clients

plain = httpx.Client()


def by_plain(to: str) -> dict[str, str]:
    return plain.post("/mails", json={"to": to}).json()


def by_throw_away(to: str) -> dict[str, str]:
    return requests.post("/mails", json={"to": to}, timeout=3).json()


def test_a_client_that_could_be_watched_and_is_not(app):
    app.tool(name="send_mail", identity=["to"])(by_plain)
    found = one(app, "unwatched-client")
    assert (found.severity, found.next_step) == ("warn", "Wrap it: client = app.watch(client).")


def test_a_client_that_is_made_for_one_request_cannot_be_watched_as_it_is(app):
    app.tool(name="send_mail", identity=["to"])(by_throw_away)
    assert "Make one client for all requests" in one(app, "unwatched-client").next_step


def test_a_watched_client_is_fine(app):
    crm = app.watch(httpx.Client())

    @app.tool(identity=["to"])
    def send_mail(to: str) -> dict[str, str]:
        return crm.post("/mails", json={"to": to}).json()

    assert not rules(app) & {"unwatched-client", "no-hooks", "hidden-retry"}


def test_a_client_that_nobody_can_watch_is_a_note(app):
    queue = sqs(total_max_attempts=1)

    @app.tool(identity=["to"])
    def send_mail(to: str) -> dict[str, str]:
        return queue.send_message(QueueUrl="q", MessageBody=to)

    assert one(app, "no-hooks").severity == "info"
    assert "unwatched-client" not in rules(app)


def test_a_read_may_use_any_client(app):
    app.read(name="get_mails")(by_plain)
    assert lint(app) == []


# ------------------------------------------------------------------------------------ the command


def test_findings_are_told_with_their_rule_and_next_step(cli, shop):
    done = cli("lint", shop)
    assert done.code == 1
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.out.startswith("bad   lease-too-short\n")
    assert "next: Leave lease_s= out, or make it longer." in done.said
    assert done.out.splitlines()[-1].startswith("4 tools: 1 bad, 2 warn, ")


def test_findings_as_json(cli, shop):
    told = json.loads(cli("lint", shop, "--json").out)
    assert told["tools"] == ["create_ticket", "send_note", "send_mail", "pay"]
    assert {"rule", "severity", "tool", "sentence", "next"} == set(told["findings"][0])


def test_notes_alone_are_fine(cli, here):
    (here / "shop.py").write_text(
        "from ascertain import Ascertain\n"
        "app = Ascertain('sqlite:///ledger.db')\n\n"
        "@app.tool(key_lifetime='48h')\n"
        "def create_ticket(order_id: str) -> dict[str, str]:\n"
        "    return {}\n"
    )
    done = cli("lint", "shop:app")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "1 tool: 0 bad, 0 warn, 3 info"
    assert not (here / "ledger.db").exists()


def test_a_key_that_nobody_provides_is_found_before_anything_is_called(app):
    """S02: for all tools at once; each with what to declare."""

    @app.tool(identity=["order_id"], context={"order_id": "order_id"}, key_lifetime="24h")
    def refund(order_id: str) -> dict:
        return {}

    @app.tool(identity=["ticket"], context={"ticket": "ticket"}, key_lifetime="24h")
    def close_case(ticket: str) -> dict:
        return {}

    found = [finding for finding in lint(app) if finding.rule == "context"]
    assert [(finding.tool, str(finding.severity)) for finding in found] == [
        ("close_case", "bad"),
        ("refund", "bad"),
    ]
    assert found[1].sentence == "refund needs 'order_id', which no tool provides."
    app.read(provides=["order_id", "ticket"], name="look_up")(_looked_up)
    assert "context" not in rules(app)


def _looked_up() -> dict:
    return {}


def test_a_tool_of_a_providers_group_that_forgot_its_rate_is_named(app):
    def declare(name, **said):
        @app.tool(identity=["order_id"], key_lifetime="24h", name=name, noun=name, **said)
        def create(order_id: str) -> dict[str, str]:
            return {}

    crm = Breaker(group="crm")
    declare("create_ticket", rate="50/s", breaker=crm)
    declare("close_ticket", rate="50/s", breaker=crm)
    declare("create_note", breaker=crm)
    declare("send_mail", breaker=Breaker(group="mail"))
    declare("send_letter", breaker=False)
    found = one(app, "rate-forgotten")
    assert (found.severity, found.tool) == ("warn", "create_note")
    assert "create_ticket does for the same provider, crm" in found.sentence
    assert found.next_step.startswith("Declare the rate= of create_ticket")


# ---------------------------------------------------------------------- made while the body runs


def makes_by_module(to: str) -> object:
    return boto3.client("sqs").send_message(to)


def makes_by_import(to: str) -> object:
    from openai import OpenAI

    return OpenAI().responses.create(input=to)


def makes_by_another_name(to: str) -> object:
    import anthropic as model

    with model.Anthropic(api_key="x") as client:
        return client.messages.create(messages=[to])


def makes_a_pool(to: str) -> object:
    return urllib3.PoolManager().request("PUT", to)


def makes_in_a_function_of_the_project(to: str) -> object:
    return makes_by_import(to)


def makes_it_quiet(to: str) -> object:
    from openai import OpenAI

    return OpenAI(max_retries=0).responses.create(input=to)


def makes_nothing(to: str) -> object:
    import anthropic

    return anthropic.__version__ + to


@pytest.mark.parametrize(
    "body, kind, says",
    [
        (makes_by_module, "boto3.client", "sends several times"),
        (makes_by_import, "openai.OpenAI", "up to 2 times more"),
        (makes_by_another_name, "anthropic.Anthropic", "up to 2 times more"),
        (makes_a_pool, "urllib3.PoolManager", "up to 3 times more"),
        (makes_in_a_function_of_the_project, "openai.OpenAI", "up to 2 times more"),
    ],
)
def test_req_F14_a_client_that_the_body_makes_is_found_by_its_name(app, body, kind, says):
    app.tool(name="send_mail", identity=["to"])(body)
    found = one(app, "hidden-retry")
    assert f"a {kind} that its body makes repeats by itself" in found.sentence
    assert says in found.sentence
    assert found.severity == "bad"


@pytest.mark.parametrize("body", [makes_it_quiet, makes_nothing])
def test_req_F14_a_client_that_is_told_to_send_once_is_none(app, body):
    app.tool(name="send_mail", identity=["to"])(body)
    assert "hidden-retry" not in rules(app)
