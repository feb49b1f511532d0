"""Import an app by its name, ``package.module:app``."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from ascertain.errors import AscertainError
from ascertain.runtime.app import Ascertain

_OURS = str(Path(__file__).resolve().parent.parent)


class AppNotLoaded(AscertainError):
    """The app could not be imported."""

    code = "app_not_loaded"
    next_step = "Name it as MODULE:APP, such as shop.tools:app; it is looked for from this folder."


def load_app(name: str) -> Ascertain:
    """The app that ``MODULE:APP`` means; the current folder is looked in first.

    :raises AppNotLoaded: and what is wrong: the name, the module, its code, or the attribute.
    """
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise AppNotLoaded(f"{name!r} does not name an app.")
    if module_name.endswith(".py") or "/" in module_name:
        raise AppNotLoaded(
            f"{module_name!r} is a file, not a module.",
            next_step=f"Write it with dots, such as {_dotted(module_name)}:{attribute}.",
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    module = _imported(module_name)
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise AppNotLoaded(
                f"{module_name} has no {attribute!r}.", next_step=_suggestion(module)
            )
        found = getattr(found, part)
    if not isinstance(found, Ascertain):
        kind = cast("type[object]", type(found))
        raise AppNotLoaded(
            f"{name} is a {kind.__module__}.{kind.__qualname__}, not an Ascertain app.",
            next_step=_suggestion(module),
        )
    return found


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name == missing or name.startswith(f"{missing}."):
            raise AppNotLoaded(
                f"There is no module {missing!r} (looked for from {Path.cwd()}).",
                next_step="Start from the project's folder, or install the project.",
            ) from error
        raise AppNotLoaded(
            f"{name} imports {missing!r}, which is not installed{_place(error)}.",
            next_step=f"Install {missing!r} into this environment.",
        ) from error
    except AscertainError as error:
        raise AppNotLoaded(
            f"{name} declares what cannot be kept: {error.message}{_place(error)}",
            next_step=error.advice,
        ) from error
    except (Exception, SystemExit) as error:
        raise AppNotLoaded(
            f"{name} broke while it was imported: {type(error).__name__}: {error}{_place(error)}.",
            next_step="Correct it; --debug shows the whole traceback.",
        ) from error


def _place(error: BaseException) -> str:
    """Where in the project's own code it broke: the last line outside the import machinery."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "importlib" not in f.filename and not f.filename.startswith(_OURS)]
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({error.filename}, line {error.lineno})"
    return f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""


def _suggestion(module: ModuleType) -> str:
    apps = [name for name, value in vars(module).items() if isinstance(value, Ascertain)]
    if apps:
        return f"There: {', '.join(f'{module.__name__}:{name}' for name in sorted(apps))}."
    return 'Make one there: app = Ascertain("sqlite:///ledger.db").'


def _dotted(file: str) -> str:
    return file.removesuffix(".py").strip("./").replace("/", ".")
