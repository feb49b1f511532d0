"""Clients of libraries that need not be installed: with them, their real objects are looked at."""

import importlib
import importlib.util

INSTALLED = [
    name
    for name in ("anthropic", "backoff", "httpx2", "openai", "redis", "stamina", "tenacity")
    if importlib.util.find_spec(name)
]


def of(name, kind, **options):
    """Make a client only when it is asked for: some of these libraries are slow to import."""
    return lambda: getattr(importlib.import_module(name), kind)(**options)


def redis_once():
    redis = importlib.import_module("redis")
    never = importlib.import_module("redis.retry").Retry(redis.backoff.NoBackoff(), 0)
    return redis.Redis(retry=never)


def httpx2_again():
    httpx2 = importlib.import_module("httpx2")
    return httpx2.Client(transport=httpx2.HTTPTransport(retries=3))


_REPEATING = {
    "anthropic": [
        (of("anthropic", "Anthropic", api_key="x"), "up to 2 times more"),
        (of("anthropic", "AsyncAnthropic", api_key="x", max_retries=5), "up to 5 times more"),
    ],
    "openai": [
        (of("openai", "OpenAI", api_key="x"), "up to 2 times more"),
        (of("openai", "AsyncOpenAI", api_key="x"), "up to 2 times more"),
    ],
    "redis": [
        (of("redis", "Redis"), "every command (INCR too)"),
        (of("redis.asyncio", "Redis"), "every command (INCR too)"),
    ],
    "httpx2": [(httpx2_again, "again up to 3 times")],
}
_QUIET = {
    "anthropic": [of("anthropic", "Anthropic", api_key="x", max_retries=0)],
    "openai": [of("openai", "OpenAI", api_key="x", max_retries=0)],
    "redis": [redis_once],
    "httpx2": [of("httpx2", "Client")],
}
REPEATING = [row for name in INSTALLED for row in _REPEATING.get(name, [])]
QUIET = [row for name in INSTALLED for row in _QUIET.get(name, [])]
