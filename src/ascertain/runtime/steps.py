"""A step as it is declared, for a chain that is stored before it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ascertain.model.record import Record

if TYPE_CHECKING:
    from ascertain.runtime.tool import AsyncTool, Tool


class Step(Record, kw_only=False):
    """A declared step of a chain.

    :param tool: a guarded tool, or its name.
    :param arguments: plain values, or :class:`Ref` to what an earlier step came to.
    :param best_effort: None: as the tool's contract says.
    :param after: the steps it depends on, beside those whose values it takes.
    """

    name: str
    tool: Tool[..., Any] | AsyncTool[..., Any] | str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    best_effort: bool | None = None
    after: Sequence[str] = ()
