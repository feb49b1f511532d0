"""What the scripted model says, and what it was told: the same for every framework."""

import json
from typing import Any, NamedTuple


class Call(NamedTuple):
    """A tool call as the model writes it; `arguments` is the text itself, or what it holds."""

    id: str
    name: str
    arguments: Any

    @property
    def text(self):
        given = self.arguments
        return given if isinstance(given, str) else json.dumps(given)


class Say(NamedTuple):
    """One message of the model.

    `cut`: it reached the limit of its length. `errors`: so many requests for it are answered with
    500 first, for the client to try again. `breaks`: its stream breaks off before its end.
    """

    calls: tuple = ()
    text: str = ""
    cut: bool = False
    errors: int = 0
    breaks: bool = False


def calls(*made, **said):
    return Say(tuple(made), **said)


DONE = Say(text="Done.")


class Told(NamedTuple):
    """What the model got for one call: the facts, and the host's flag (None: it has none)."""

    call_id: str
    text: str
    is_error: bool | None

    @property
    def facts(self):
        return json.loads(self.text)

    @property
    def action(self):
        return self.facts["actions"][0]

    @property
    def state(self):
        return self.action["state"]


class Played(NamedTuple):
    """How a run went. `killed`: it ended in the middle; `saved` is what its host has kept.

    `refused`: the framework itself ended the run, or answered for a call, because of what the model
    wrote.
    """

    told: list
    killed: bool = False
    saved: Any = None
    refused: bool = False

    def __getitem__(self, index):
        return self.told[index]


def planned_anew(says):
    """Of a framework that keeps nothing of a run that was killed: with fresh ids."""
    return [
        say._replace(calls=tuple(one._replace(id=f"{one.id}-anew") for one in say.calls))
        for say in says
        if say.calls
    ]
