"""Providers that nobody here wrote: moto's server, through boto3, with answers lost on the way.

Between boto3 and moto stands a relay that drops a request, or drops the connection after moto has
answered. What happened is counted in moto itself, past the relay.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from ascertain import Absent, Ascertain, Budget, Found, Receipt, RefusalRule, State, key
from tests.foreign.relay import LOSE_REPLY, LOSE_REQUEST, Relay

QUICK = Budget(turn_s=10.0, send_deadline_s=5.0, backoff_s=0.02, backoff_max_s=0.2)
PASSING = '{"StartAt": "a", "States": {"a": {"Type": "Wait", "Seconds": 60, "End": true}}}'
ROLE = "arn:aws:iam::123456789012:role/any"
IMAGE = "ami-12345678"


@pytest.fixture(scope="module")
def moto():
    """moto in a process of its own; its port."""
    program = Path(__file__).parent / "moto_process.py"
    with subprocess.Popen(
        [sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield int(process.stdout.readline())
        process.stdin.close()
        process.wait(20)


@pytest.fixture(scope="module")
def relay(moto):
    with Relay(moto) as relay:
        yield relay


@pytest.fixture(scope="module")
def clients(moto, relay):
    """boto3 clients: `near` goes past the relay to moto itself, the others through it."""
    made = {}

    def client(service: str, way: str = "once") -> Any:
        if (service, way) not in made:
            attempts = {"once": 1, "near": 1, "repeating": 3}[way]
            made[service, way] = boto3.client(
                service,
                endpoint_url=f"http://127.0.0.1:{moto}" if way == "near" else relay.url,
                region_name="us-east-1",
                aws_access_key_id="nobody",
                aws_secret_access_key="nothing",
                config=Config(
                    retries={"total_max_attempts": attempts, "mode": "standard"},
                    connect_timeout=5, read_timeout=10, proxies={},
                ),
            )  # fmt: skip
        return made[service, way]

    with pytest.MonkeyPatch.context() as settings:
        settings.delenv("AWS_PROFILE", raising=False)  # nobody's own settings, nobody's credentials
        settings.setenv("AWS_CONFIG_FILE", os.devnull)
        settings.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
        yield client
        for one in made.values():
            one.close()


@pytest.fixture
def app(tmp_path):
    with Ascertain(f"sqlite:///{tmp_path}/ledger.db", worker="none", lease_s=2.0) as app:
        yield app


@dataclass(frozen=True)
class Guarded:
    """A guarded tool of one service: how it is told apart on the wire, and its effects in moto."""

    tool: Any
    kind: str
    effects: Callable[[str], list[str]]


def step_functions(app, client, name, way="once") -> Guarded:
    """StartExecution: the name is the key, while the execution runs and for 90 days after."""
    near = client("stepfunctions", "near")
    machine = near.create_state_machine(name=name, definition=PASSING, roleArn=ROLE)
    arn = machine["stateMachineArn"]

    @app.tool(
        identity=["order"], key_lifetime="90d", receipt="executionArn", budget=QUICK,
        refusals=[RefusalRule(code="ExecutionAlreadyExists", kind="already_exists")],
    )  # fmt: skip
    def start_execution(order: str) -> dict:
        asked = json.dumps({"order": order})
        return client("stepfunctions", way).start_execution(
            stateMachineArn=arn, name=key(), input=asked
        )

    @start_execution.lookup(absence_final_after="1s")
    def find_execution(action):
        ours = arn.replace(":stateMachine:", ":execution:") + f":{action.key}"
        try:
            found = client("stepfunctions").describe_execution(executionArn=ours)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ExecutionDoesNotExist":
                return Absent
            raise
        return Found(found["executionArn"])

    def effects(order: str) -> list[str]:
        listed = near.list_executions(stateMachineArn=arn)["executions"]
        described = [near.describe_execution(executionArn=one["executionArn"]) for one in listed]
        return [
            one["executionArn"] for one in described if json.loads(one["input"])["order"] == order
        ]

    return Guarded(start_execution, "StartExecution", effects)


def file_systems(app, client, name, way="once") -> Guarded:
    """CreateFileSystem: the creation token is the key; a repeat is refused, not replayed."""

    @app.tool(
        identity=["order"], key_lifetime="30d", receipt="FileSystemId", budget=QUICK,
        refusals=[RefusalRule(code="FileSystemAlreadyExists", kind="already_exists")],
    )  # fmt: skip
    def create_file_system(order: str) -> dict:
        tags = [{"Key": "order", "Value": order}]
        return client("efs", way).create_file_system(CreationToken=key(), Tags=tags)

    @create_file_system.lookup(absence_final_after="1s")
    def find_file_system(action):
        found = client("efs").describe_file_systems(CreationToken=action.key)["FileSystems"]
        return Found(found[0]["FileSystemId"], count=len(found)) if found else Absent

    def effects(order: str) -> list[str]:
        listed = client("efs", "near").describe_file_systems(MaxItems=100)["FileSystems"]
        wanted = {"Key": "order", "Value": order}
        return [one["FileSystemId"] for one in listed if wanted in one["Tags"]]

    return Guarded(create_file_system, "POST /2015-02-01/file-systems", effects)


def fifo_queue(app, client, name, way="once") -> Guarded:
    """SQS FIFO: the deduplication id is the key, for five minutes; nobody can be asked."""
    made = client("sqs").create_queue(QueueName=f"{name}.fifo", Attributes={"FifoQueue": "true"})
    queue = made["QueueUrl"]

    @app.tool(identity=["order"], key_lifetime="5m", budget=QUICK)
    def send_message(order: str) -> Receipt:
        client("sqs", way).send_message(
            QueueUrl=queue, MessageBody=order, MessageGroupId="g", MessageDeduplicationId=key()
        )
        # moto answers a repeat with a new message id that is in no queue: our key is the reference
        return Receipt(key())

    def effects(order: str) -> list[str]:
        near = client("sqs", "near")
        url = near.get_queue_url(QueueName=f"{name}.fifo")["QueueUrl"]
        found: list[str] = []
        while messages := near.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0, AttributeNames=["All"]
        ).get("Messages"):
            new = [
                one["Attributes"]["MessageDeduplicationId"]
                for one in messages
                if one["Body"] == order
            ]
            for one in messages:
                near.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
            found += new
        return found

    return Guarded(send_message, "AmazonSQS.SendMessage", effects)


def instances(app, client, name, way="once") -> Guarded:
    """RunInstances: this moto ignores ClientToken, so our key goes into a tag: ask only."""

    @app.tool(identity=["order"], receipt="InstanceId", budget=QUICK, recount_after="0.2s")
    def run_instances(order: str) -> dict:
        tags = [{"Key": "order", "Value": order}, {"Key": "request", "Value": key()}]
        made = client("ec2", way).run_instances(
            ImageId=IMAGE, MinCount=1, MaxCount=1,
            TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
        )  # fmt: skip
        return {"InstanceId": made["Instances"][0]["InstanceId"]}

    @run_instances.lookup(absence_final_after="0.5s")
    def find_instance(action):
        found = _tagged(client("ec2", way), "request", action.key)
        return Found(found[0], count=len(found)) if found else Absent

    return Guarded(
        run_instances,
        "Action=RunInstances",
        lambda order: _tagged(client("ec2", "near"), "order", order),
    )


def _tagged(ec2: Any, tag: str, value: str) -> list[str]:
    answer = ec2.describe_instances(Filters=[{"Name": f"tag:{tag}", "Values": [value]}])
    return [
        one["InstanceId"]
        for reservation in answer["Reservations"]
        for one in sorted(reservation["Instances"], key=lambda one: str(one["LaunchTime"]))
    ]


SERVICES = {
    "step-functions": step_functions,
    "file-systems": file_systems,
    "fifo-queue": fifo_queue,
    "instances": instances,
}


ASKING = {"step-functions": "DescribeExecution", "file-systems": "GET /2015-02-01/file-systems"}


def call(app, guarded, order):
    with app.session(order, principal="u"):
        return guarded.tool(order=order)


@pytest.mark.parametrize("fate", [LOSE_REPLY, LOSE_REQUEST])
@pytest.mark.parametrize("service", SERVICES)
def test_a_lost_answer_of_a_real_sdk_makes_one_effect(app, clients, relay, service, fate):
    """boto3's own retries are off; ours know what they may do: one effect, and its reference."""
    order = f"{service}-{fate}".replace(" ", "-")
    guarded = SERVICES[service](app, clients, order)
    relay.lose(guarded.kind, fate)
    action = call(app, guarded, order)
    effects = guarded.effects(order)
    history = [f"{one.event}:{one.reason}" for one in app.ledger.events(action.id)]
    assert (action.state, len(effects)) == (State.CONFIRMED, 1), history
    assert action.provider_ref == effects[0], history
    assert relay.came[guarded.kind] == action.record.sends, "every send is in the record"
    resent = fate == LOSE_REQUEST or service == "fifo-queue"
    assert action.attempt == (2 if resent else 1), "asked first, wherever that is possible"


def heal(app, action):
    """Recover until nothing is due; returns how the action stands then."""
    pause, give_up_at = Event(), time.monotonic() + 20
    while (due_at := app.ledger.next_due_at()) is not None:
        assert time.monotonic() < give_up_at, "something is due again and again"
        pause.wait(max(0.01, due_at - app.hands.clock()))
        app.recover()
    return app.action(action.id).record


@pytest.mark.parametrize("service", ["step-functions", "file-systems"])
def test_an_answer_and_a_look_up_are_lost_and_the_same_key_is_sent_again(
    app, clients, relay, service
):
    """One replays, the other says "already exists": that is our own, and nobody hears "refused"."""
    order = f"{service}-again"
    guarded = SERVICES[service](app, clients, order)
    relay.lose(guarded.kind, LOSE_REPLY)
    relay.lose(ASKING[service], LOSE_REPLY)
    action = call(app, guarded, order)
    history = [f"{one.event}:{one.reason}" for one in app.ledger.events(action.id)]
    assert guarded.effects(order) == [action.provider_ref], history
    assert (action.state, relay.came[guarded.kind]) == (State.CONFIRMED, 2), history
    assert ("lose:duplicate_refusal" in history) == (service == "file-systems")


@pytest.mark.parametrize("service", SERVICES)
def test_what_boto3_repeats_by_itself_is_counted_below_and_not_by_us(app, clients, relay, service):
    """boto3's own retries are on (its default: 3 in all), and it loses two answers.

    The relay sees three requests; our record says one send. That is all that can be seen without
    a hook in botocore: one call went in, one answer came out. So the number of sends is wrong by
    what the SDK repeats, and whoever needs the number turns the SDK's retries off. What was *done*
    is known all the same: with a key it is one effect, whatever is repeated below. Without one the
    SDK has made three, inside one attempt of ours; they are seen where they can be counted, by the
    look-up after the confirmation, and reported as disputed.
    """
    order = f"{service}-repeated"
    guarded = SERVICES[service](app, clients, order, "repeating")
    relay.lose(guarded.kind, LOSE_REPLY, LOSE_REPLY)
    action = call(app, guarded, order)
    record = heal(app, action)
    effects = guarded.effects(order)
    print(
        f"{service}: {relay.came[guarded.kind]} requests on the wire, {record.sends} sends in the "
        f"record, {len(effects)} effects, {record.state}, review {record.review}"
    )
    assert (relay.came[guarded.kind], record.sends, record.attempt) == (3, 1, 1)
    assert action.state is State.CONFIRMED
    assert record.provider_ref in effects
    keyed = service != "instances"
    assert len(effects) == (1 if keyed else 3)
    assert (record.disputed, record.review) == ((0, None) if keyed else (1, "duplicate_effect"))
    assert app.ledger.counts()["disputed"] == (not keyed)
