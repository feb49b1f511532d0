"""A server's tools as guarded tools: contract, body, look-up, compensation, as configured."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast

from ascertain.adapters.mcp.answers import ErrorResult, Result, found_in, read, text_of
from ascertain.adapters.mcp.config import Companion, KeyPlace, ProxyConfig, Said, ToolConfig
from ascertain.adapters.mcp.exchange import current
from ascertain.adapters.mcp.pins import Tool
from ascertain.adapters.mcp.signature import SchemaSignature
from ascertain.adapters.mcp.templates import fill
from ascertain.adapters.mcp.words import KEY, forwarded
from ascertain.errors import ContractError
from ascertain.model.contract import Budget
from ascertain.model.words import AbsentType, Found, Receipt, Undone
from ascertain.runtime.app import Ascertain
from ascertain.runtime.attempt import current_attempt
from ascertain.runtime.invoke import Asked
from ascertain.runtime.promises import contract_of
from ascertain.runtime.registry import Entry, check_contract
from ascertain.runtime.tool import AsyncTool

Send = Callable[[str, Mapping[str, Any], Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Calls a tool of the server: its name, its arguments, ``_meta``."""

# Hosts give up after a minute; a tool of a server may well take half of that.
BUDGET: Final = Budget(turn_s=50.0, send_deadline_s=45.0)
UNSAID: Final = ToolConfig()
ERROR_CODE: Final = "is_error"
_OF_UNDO: Final = (
    "key_lifetime", "key_margin", "key_format", "repeat", "refusals", "refusal_covers_key",
    "refusal_final_after", "unprocessed", "budget", "approval", "approval_within",
    "approval_by_other", "rate", "breaker", "say", "say_zh",
)  # fmt: skip
"""What is promised of a tool in its own right holds of it as a compensation too."""
_KEPT: Final = ("content", "structuredContent", "isError", "_meta")


class Guard:
    """Declares a server's tools in an app.

    :param send: calls a tool of the server.
    """

    def __init__(self, app: Ascertain, config: ProxyConfig, send: Send) -> None:
        self._app = app
        self._config = config
        self._send = send

    def access(self, tool: Tool) -> str:
        """``read`` or ``write``: as configured, else as annotated where that is trusted."""
        said = self.said(tool).access
        if said:
            return said
        hints = cast("Mapping[str, Any]", tool.get("annotations") or {})
        trusted = self._config.trust_annotations and hints.get("readOnlyHint") is True
        return "read" if trusted else "write"

    def said(self, tool: Tool) -> ToolConfig:
        return self._config.tools.get(str(tool["name"]), UNSAID)

    def declare(self, tool: Tool) -> Entry:
        """Declare one tool.

        :raises ContractError: what is configured of it cannot be kept.
        """
        name, said, access = str(tool["name"]), self.said(tool), self.access(tool)
        hidden = (said.key.argument,) if said.key.hides and access == "write" else ()
        signature = SchemaSignature(name, tool["inputSchema"], hidden_names=hidden)
        promises = {"noun": name, "budget": BUDGET, **said.promises}
        if said.receipt is None:
            promises.pop("receipt", None)
        contract = contract_of(name, promises, access=access)
        check_contract(contract, signature)
        if access == "write" and said.key.argument:
            _check_key_place(name, said.key, tool)
        entry = Entry(
            contract=contract,
            body=self._reading(name) if access == "read" else self._writing(name, said),
            signature=signature,
            codec=signature.result,
            is_async=True,
        )
        self._app.registry.add(entry)
        if access == "write":
            self._attach(AsyncTool[..., Any](self._app, entry), said)
        return entry

    def _reading(self, name: str) -> Callable[..., Awaitable[Receipt]]:
        async def body(**arguments: Any) -> Receipt:
            return Receipt("", kept(await self._send(name, arguments, _meta_of_host())))

        return body

    def _writing(self, name: str, said: ToolConfig) -> Callable[..., Awaitable[Receipt]]:
        async def body(**arguments: Any) -> Receipt:
            key = current_attempt().key
            placed = with_key(said.key, arguments, key)
            raw = await self._send(name, placed, {**_meta_of_host(), KEY: key})
            return judged(said, raw)

        return body

    def _attach(self, tool: AsyncTool[..., Any], said: ToolConfig) -> None:
        """The look-up and the compensation, where they are configured."""
        if said.lookup is not None:
            companion, search, promises = said.lookup

            async def look(asked: Asked) -> Found | AbsentType:
                places = _places(asked)
                arguments = _filled(companion, places)
                return found_in(search, await self._send(companion.tool, arguments, {}), places)

            tool.lookup(**promises)(look)
        if said.undo is not None:
            self._reverse(tool, *said.undo)

    def _reverse(self, tool: AsyncTool[..., Any], companion: Companion, way: Said) -> None:
        """The compensation: an action of its own, which a model may ask for.

        It promises what is configured of the tool that does it.
        """
        theirs = self._config.tools.get(companion.tool, UNSAID)
        promises: Said = {n: theirs.promises[n] for n in _OF_UNDO if n in theirs.promises}

        async def undo(undone: Undone) -> Receipt:
            key = current_attempt().key
            arguments = with_key(theirs.key, _filled(companion, _places(undone)), key)
            return judged(theirs, await self._send(companion.tool, arguments, {KEY: key}))

        said: Said = {"name": f"undo_{tool.name}", "budget": BUDGET, **promises, **way}
        reversing = tool.compensate(offered=True, **said)(undo)
        if theirs.lookup is None:
            return
        looker, search, looks = theirs.lookup

        async def look(asked: Asked) -> Found | AbsentType:
            sent = _filled(companion, _places(asked.arguments["undone"]))
            places = {**_places(asked), "arguments": sent}
            found = await self._send(looker.tool, _filled(looker, places), {})
            return found_in(search, found, places)

        reversing.lookup(**looks)(look)


def with_key(place: KeyPlace, arguments: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The arguments as they are sent, with the key where it goes."""
    placed = dict(arguments)
    if place.argument:
        value = placed.get(place.argument)
        places = {"key": key, "value": "" if value is None else value}
        placed[place.argument] = fill(place.template, places)
    return placed


def judged(said: ToolConfig, raw: Result) -> Receipt:
    """What a server's result says of the effect.

    :raises ErrorResult: it is an error; whether that is a refusal is for the contract to say.
    """
    if raw.get("isError"):
        exchange = current.get()
        if exchange is not None:
            exchange.error_text = text_of(raw)
        raise ErrorResult(read(said.error_code, raw) or ERROR_CODE)
    return Receipt(read(said.receipt, raw), kept(raw))


def kept(raw: Result) -> dict[str, Any]:
    """What of a result is stored and handed on."""
    found = {name: raw[name] for name in _KEPT if name in raw}
    meta = forwarded(cast("Mapping[str, Any] | None", found.pop("_meta", None)))
    return {**found, "_meta": meta} if meta else found


def _meta_of_host() -> dict[str, Any]:
    exchange = current.get()
    return {} if exchange is None else forwarded(exchange.meta)


def _places(asked: Asked | Undone) -> dict[str, Any]:
    names = ("key", "provider_ref", "related_ref", "handle", "action_id", "arguments")
    places = {name: getattr(asked, name, None) for name in names}
    if isinstance(asked, Asked):
        places["action_id"] = asked.id
    return places


def _filled(companion: Companion, places: Mapping[str, Any]) -> dict[str, Any]:
    return cast("dict[str, Any]", fill(dict(companion.arguments), places))


def _check_key_place(name: str, place: KeyPlace, tool: Tool) -> None:
    properties = cast("Mapping[str, Any]", tool["inputSchema"].get("properties") or {})
    if place.argument not in properties:
        raise ContractError(
            f"{name}: key goes into the argument {place.argument!r}, which the tool does not have "
            f"({', '.join(properties) or 'it has none'})."
        )
