"""All commands together; and what becomes of errors that nobody caught."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from typing import Annotated, cast

import typer

from ascertain.cli.exits import MEANING, Exit, UsageProblem, tell
from ascertain.cli.out import ReaderGone, put
from ascertain.errors import AscertainError

_WIDTH = 80
_NAME = "ascertain"
_EPILOG = "\b\nExit codes:\n" + "\n".join(f"  {int(c):3}  {text}" for c, text in MEANING.items())

# Of typer's own or of click, by its release.
_UsageError = cast("type[Exception]", typer.BadParameter.__base__)


COMMANDS = {
    "actions": "List actions, newest first.",
    "show": "The timeline of one action, and what comes next.",
    "why": "One sentence: why it stands so, and what comes next.",
    "recount": "Do person, ledger and provider agree?",
    "chains": "List wishes, and what they have come to.",
    "chain": "Draw one wish over time.",
    "trace": "Five questions to a chain that went wrong.",
    "sessions": "List sessions, and what is open in them.",
    "session": "One session: its wishes and actions.",
    "sli": "Do chained calls come to their end?",
    "review": "What waits for a person, and the person's answer.",
    "resolve": "A person's verdict: it happened, or it did not.",
    "approve": "A person's word on a call that waits: approve, decline, release.",
    "breakers": "Which tools are closed for automatic sends.",
    "export": "Actions, keys and receipts; personal data masked.",
    "worker": "Take up open actions until told to stop.",
    "retain": "Archive old actions, and remove them.",
    "migrate": "Bring a ledger to this release's tables.",
    "epochs": "Where a ledger's history may have broken off.",
    "top": "Watch what waits and who works on it.",
    "doctor": "Examine a ledger and, with an app, its tools.",
    "lint": "What is worth knowing about an app's tools.",
    "observe-report": "What guarding would have prevented.",
    "mcp": "Stand in front of an MCP server.",
    "mcp init": "Write a first configuration for a server.",
    "mcp release": "Release tools that changed.",
    "demo": "See it work, and see processes die.",
    "replay": "Recorded calls of real agents, with faults.",
    "audit-trace": "What recorded conversations repeated and misstated.",
}


def build(wanted: str) -> typer.Typer:
    """The command with all its subcommands; only the wanted one is imported."""
    app = typer.Typer(
        name=_NAME,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        epilog=_EPILOG,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": _WIDTH},
    )
    app.callback()(_root)
    for name, summary in COMMANDS.items():
        if name == wanted:
            file = name.replace("-", "_").replace(" ", "_")
            module = import_module(f"ascertain.cli.{file}")
            app.command(name, short_help=summary, epilog=module.EPILOG)(module.command)
        else:
            app.command(name, short_help=summary)(_not_imported)
    return app


def _not_imported() -> None:
    """Stands for a command that is not wanted."""


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        put(f"{_NAME} {version(_NAME)}\n")
        raise typer.Exit(Exit.FINE)


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """What each tool call of an agent really did: look, understand, decide.

    Every command has --json and --help. --debug shows the traceback of an error.
    """


def run(argv: list[str]) -> int:
    """Run one command and return its exit code."""
    debug, as_json, argv = _everywhere(argv)
    if not argv:
        run(["--help"])
        return Exit.USAGE
    argv = _joined(argv)
    try:
        command = typer.main.get_command(build(_wanted(argv)))
        code = command.main(args=argv, prog_name=_NAME, standalone_mode=False)
    except AscertainError as error:
        _trace(debug=debug)
        return tell(error, as_json=as_json)
    except _UsageError as error:
        return tell(_usage(error, argv), as_json=as_json)
    except ReaderGone:
        return Exit.READER_GONE
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception as error:
        _trace(debug=debug)
        defect = AscertainError(
            f"A defect: {type(error).__name__}: {error}",
            next_step="Please report it, with what --debug shows.",
        )
        tell(defect, as_json=as_json)
        return Exit.DEFECT
    return int(code or Exit.FINE)


def _everywhere(argv: list[str]) -> tuple[bool, bool, list[str]]:
    """``--debug`` may stand anywhere; ``--json`` is looked at before the command is understood."""
    end = argv.index("--") if "--" in argv else len(argv)
    debug, as_json = "--debug" in argv[:end], "--json" in argv[:end]
    kept = [word for word in argv[:end] if word != "--debug"]
    return debug, as_json, kept + argv[end:]


def _wanted(argv: list[str]) -> str:
    """The command's name: no option before it has a value."""
    return next((word for word in argv if not word.startswith("-")), "")


def _joined(argv: list[str]) -> list[str]:
    """``mcp init`` as one word: a command that takes another command has no subcommands."""
    name = " ".join(argv[:2])
    return [name, *argv[2:]] if len(argv) > 1 and name in COMMANDS else argv


def _usage(error: Exception, argv: list[str]) -> UsageProblem:
    told = getattr(error, "format_message", None)
    message = str(told() if told is not None else error)
    wanted = _wanted(argv)
    asked = f"{_NAME} {wanted} --help" if wanted in COMMANDS else f"{_NAME} --help"
    return UsageProblem(message or "The command is not complete.", next_step=asked)


def _trace(*, debug: bool) -> None:
    if debug:
        traceback.print_exc(file=sys.stderr)
