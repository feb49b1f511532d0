"""Recorded tool calls of real conversations, replayed through guarded tools with seeded faults."""

from __future__ import annotations

from pathlib import Path

from ascertain.errors import ContractError


def run_replay(
    path: str | Path,
    seed: int = 7,
    json_out: bool = False,
    limit: int | None = None,
    contract: str = "key+lookup",
    format: str | None = None,
) -> int:
    """Replay recorded tool calls with seeded faults, and print what came of it.

    :param path: a recording in one of the formats of :mod:`ascertain.replay.formats`.
    :param seed: of the faults. :param format: its name; None: found out from what is in it.
    :param json_out: print the report as JSON. :param limit: replay only so many calls.
    :param contract: ``key+lookup``, ``key``, ``lookup``, ``fencing`` or ``none``.
    :returns: 0 if nothing disagrees, 1 if anything does.
    :raises RecordingError: it cannot be read; names the line and the next step.
    :raises ContractError: there is no such contract, or httpx is not installed.
    """
    need_httpx("replay")
    from ascertain.replay.run import run

    return run(Path(path), seed, json_out, limit, contract, format)


def need_httpx(what: str) -> None:
    """Both the demo and the replay make their calls with a real client.

    :raises ContractError: it is not installed.
    """
    try:
        import httpx
    except ModuleNotFoundError as missing:
        if missing.name != "httpx":
            raise
        raise ContractError(
            f"The {what} makes real HTTP calls, and httpx is not installed.",
            next_step='pip install "ascertain[httpx]"',
        ) from None
    del httpx


__all__ = ["need_httpx", "run_replay"]
