"""The main job before your eyes: an agent, its providers, and what is known when things break."""

from __future__ import annotations

from ascertain.replay import need_httpx


def run_demo(
    sabotage: str | None = None, json_out: bool = False, colour: bool | None = None
) -> int:
    """Play the stories, and judge them by the providers' own books.

    :param sabotage: one rule of the library to replace (``new-key``, ``blind-resend``,
        ``say-failed``, ``forget-doubt``, ``drop-fence``, ``forget-direction``,
        ``stale-context``); then only the story that it breaks is played.
    :param json_out: print the whole report as JSON, and nothing else.
    :param colour: None: as the terminal and ``NO_COLOR`` say.
    :returns: 0 if everything agrees, 1 if anything does not.
    :raises ContractError: there is no such sabotage, or httpx is not installed.
    :raises DemoBroken: a process of the demo did not do its part.
    """
    need_httpx("demo")
    from ascertain.demo.run import run

    return run(sabotage, json_out, colour)


__all__ = ["run_demo"]
