"""Plain loops over Anthropic's real client."""

import anthropic

from ascertain.adapters import anthropic as door
from tests.doors.drivers.loops import Loop

DRIVERS = [
    Loop("anthropic", door=door, client=anthropic.Anthropic),
    Loop(
        "anthropic-async-stream", light=True, door=door, client=anthropic.AsyncAnthropic,
        is_async=True, stream=True,
    ),
]  # fmt: skip
