"""One small driver for each door. A new door needs a file here, and its name in `HERE` or `APART`.

A driver has a `name`, `is_async`, `light` (another form of a door that has a driver already: only
what may differ is tried on it), `tells_cut` (a message that was cut off is known to be), and

    play(shop, says, *, turn="m1", tools=None, saved=None, cancel=False) -> Played

which makes an agent of its framework with the shop's own tools, guests and door, lets a scripted
model say `says`, and returns what the model was told. `saved` goes on with what an earlier run had
kept when it was killed. `cancel`: the run is cancelled once `shop.began` is set (async drivers).
"""

import importlib
import os

# All of these are installed where the tests run.
HERE = ("anthropic", "openai", "langgraph", "pydantic_ai", "openai_agents")
# Each of these needs other versions, or much room: an environment of its own (`make examples`).
APART = ("strands", "google_adk", "claude_agent")

asked = os.environ.get("DOORS", "").split()
ELSEWHERE = [name for name in APART if name not in asked]
DRIVERS = [
    driver
    for name in asked or HERE
    for driver in importlib.import_module(f"tests.doors.drivers.{name}").DRIVERS
]
