"""Plain loops over OpenAI's real client, on both of its APIs."""

import openai

from ascertain.adapters import openai as door
from tests.doors.drivers.loops import Loop

DRIVERS = [
    Loop("openai-chat-stream", door=door, client=openai.OpenAI, stream=True),
    Loop("openai-chat-async", light=True, door=door, client=openai.AsyncOpenAI, is_async=True),
    Loop(
        "openai-responses-stream", light=True, door=door, client=openai.OpenAI, stream=True,
        api="responses",
    ),
    Loop(
        "openai-responses-async", light=True, door=door, client=openai.AsyncOpenAI, is_async=True,
        api="responses",
    ),
]  # fmt: skip
