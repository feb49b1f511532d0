"""How often a provider may be spoken to, as it is said when a tool is declared."""

from __future__ import annotations

import re

from ascertain.errors import ContractError
from ascertain.model.rate import Rate as Rule
from ascertain.model.record import Record
from ascertain.runtime.durations import UNITS

_RATE = re.compile(r"(\d+)\s*/\s*(\d+(?:\.\d+)?)?\s*(ms|s|m|h|d)\Z")
_MOST_S = 86400.0


class Rate(Record, kw_only=False):
    """How often a provider may be spoken to: sends and look-ups of all processes together.

    :param most: ``50/s``, ``3000/m``, ``10/2s``: so many requests in any stretch of that length.
    :param group: the provider, where several tools share its rate; by default the group of the
        tool's breaker, else the tool alone.
    """

    most: str
    group: str = ""

    def rule(self, tool: str) -> Rule:
        """The same as data.

        :raises ContractError: a rate that makes no sense.
        """
        said = self.most
        found = _parsed(said)
        if found is None:
            raise ContractError(f"{tool}: rate={said!r} is not a rate (50/s, 3000/m, 10/2s).")
        limit, window_s = int(found[1]), float(found[2] or 1) * UNITS[found[3]]
        if limit < 1 or not 0 < window_s <= _MOST_S:
            raise ContractError(
                f"{tool}: rate={said!r} must let at least 1 request through in a day or less.",
                next_step="A tool that must never be called is better not registered.",
            )
        return Rule(limit=limit, window_s=window_s, group=_name(tool, self.group))


def _parsed(said: object) -> re.Match[str] | None:
    return _RATE.match(said.strip()) if isinstance(said, str) else None


def _name(tool: str, group: object) -> str:
    if not isinstance(group, str):
        raise ContractError(f"{tool}: rate group={group!r} must be a name.")
    return group


def rate_of(tool: str, said: object) -> Rule | None:
    """The rate that ``rate=`` means; None: none is declared.

    :raises ContractError: it is neither a rate nor the text of one.
    """
    if said is None or isinstance(said, Rate):
        return said.rule(tool) if said is not None else None
    if not isinstance(said, str):
        raise ContractError(f"{tool}: rate={said!r} is Rate(...) or text such as '50/s'.")
    return Rate(most=said).rule(tool)
