"""Spans as Pydantic AI itself makes them, encoded by OpenTelemetry's own encoder."""

import json

import pydantic_ai
from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings

from ascertain.replay.audit.judge import audit


async def test_req_F14_an_agent_that_repeats_blindly_shows_in_its_own_spans(tmp_path):
    kept = InMemorySpanExporter()
    tracing = TracerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(kept))
    replies = iter(
        [
            ModelResponse([ToolCallPart("create_ticket", {"order_id": "A1"}, tool_call_id="c1")]),
            ModelResponse([ToolCallPart("create_ticket", {"order_id": "A1"}, tool_call_id="c2")]),
            ModelResponse([TextPart("Your ticket was not created.")]),
        ]
    )
    agent = pydantic_ai.Agent(FunctionModel(lambda _messages, _info: next(replies)))

    @agent.tool_plain
    def create_ticket(order_id: str) -> str:
        return f"Error: request for {order_id} timed out"

    pydantic_ai.Agent.instrument_all(InstrumentationSettings(tracer_provider=tracing))
    try:
        await agent.run("Please open a ticket for A1.")
    finally:
        pydantic_ai.Agent.instrument_all(False)
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(MessageToDict(encode_spans(kept.get_finished_spans()))))
    seen = audit([path], {})
    assert (list(seen.formats.values()), seen.conversations, seen.writes) == (["otlp"], 1, 2)
    assert sorted((str(one.kind), one.rule) for one in seen.findings) == [
        ("blind_retry", "blind_retry"), ("false_statement", "not_done_while_unknown"),
    ]  # fmt: skip
