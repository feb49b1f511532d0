"""Clients that a body makes while it runs, with the retries that they have by default.

Such a client is there only during the call, so it is known by the names that the code reads: what
it imports, and what it calls of that. No library is imported for it.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from typing import Any, Final, cast

from ascertain.report.retries import Client, Hidden

_SDK: Final = (
    "max_retries",
    Hidden(
        what="by default it sends up to 2 times more: after transport errors, 408, 409, 429 and "
        "5xx, with no key of its own",
        fix="max_retries=0",
    ),
)
_BOTO: Final = (
    "config",
    Hidden(
        what="by default it sends several times: after timeouts, throttling and 5xx, for every "
        "operation",
        fix="config=Config(retries={'total_max_attempts': 1})",
    ),
)
_POOL: Final = (
    "retries",
    Hidden(
        what="by default it sends up to 3 times more: PUT and DELETE after a lost answer, any "
        "method after a TLS or proxy error",
        fix="PoolManager(retries=False)",
    ),
)
_REDIS: Final = (
    "retry",
    Hidden(
        what="by default it sends up to 10 times more after a lost connection, every command (INCR "
        "too)",
        fix="Redis(retry=Retry(NoBackoff(), 0))",
    ),
)
# (top-level package, name) -> the keyword by which it is told otherwise, and what it does if not.
MAKERS: Final[dict[tuple[str, str], tuple[str, Hidden]]] = {
    **{
        ("openai", name): _SDK
        for name in ("OpenAI", "AsyncOpenAI", "AzureOpenAI", "AsyncAzureOpenAI")
    },
    **{
        ("anthropic", name): _SDK
        for name in (
            "Anthropic", "AsyncAnthropic", "AnthropicBedrock", "AsyncAnthropicBedrock",
            "AnthropicVertex", "AsyncAnthropicVertex",
        )
    },
    ("boto3", "client"): _BOTO,
    ("boto3", "resource"): _BOTO,
    ("urllib3", "PoolManager"): _POOL,
    ("redis", "Redis"): _REDIS,
}  # fmt: skip


def made_by(function: types.FunctionType) -> Iterator[Client]:
    """The clients that a function makes, and does not tell to send once."""
    code = function.__code__
    keywords = set(_keywords(code))
    for root, name in dict.fromkeys(_called(code, function.__globals__)):
        row = MAKERS.get((root, name))
        if row is not None and row[0] not in keywords:
            yield Client(kind=f"{root}.{name}", hooks=False, hidden=(row[1],), thrown_away=True)


def _keywords(code: types.CodeType) -> Iterator[str]:
    """Every keyword that is passed to anything; which one to what cannot be told apart."""
    for constant in code.co_consts:
        if isinstance(constant, tuple):
            yield from map(str, cast("tuple[object, ...]", constant))
        elif isinstance(constant, types.CodeType):
            yield from _keywords(constant)


def _called(code: types.CodeType, names: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What the code reads of packages: ``(package, name)``."""
    imports: dict[str, tuple[str, str]] = {}
    module = member = ""
    chain: list[str] = []
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            module, member = str(step.argval), ""
        elif step.opname == "IMPORT_FROM":
            member = str(step.argval)
        elif step.opname.startswith("STORE_") and module:
            imports[str(step.argval)] = (module.partition(".")[0], member)
            module = "" if not member else module
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
            chain.append(str(step.argval))
            continue
        elif step.opname == "POP_TOP":
            module = member = ""
        if chain:
            yield from _named(chain, imports, names)
        chain = [_loaded(step.argval)] if step.opname.startswith("LOAD_") else []
    if chain:
        yield from _named(chain, imports, names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _called(constant, names)


def _loaded(argument: tuple[str, ...] | str) -> str:
    """The name that is loaded; of two that are loaded at once, the last one is gone on with."""
    return argument[-1] if isinstance(argument, tuple) else str(argument)


def _named(
    chain: list[str], imports: dict[str, tuple[str, str]], names: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    first, *rest = chain
    if first in imports:
        root, member = imports[first]
        yield root, member or (rest[0] if rest else "")
        return
    value = names.get(first)
    if isinstance(value, types.ModuleType):
        yield value.__name__.partition(".")[0], rest[0] if rest else ""
    elif isinstance(value, type | types.FunctionType):
        yield str(value.__module__).partition(".")[0], value.__name__
