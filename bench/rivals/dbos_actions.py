"""DBOS: one workflow for each action, so that the intent is durable before the tool is called.

    python bench/rivals/dbos_actions.py URL CALLERS ACTIONS [bare]

The fastest durable setting that its documentation has for this: an async workflow with an id of its
own whose row is the intent, and the tool as its step: "annotate any function that [...] accesses
external APIs or services as a step" (https://docs.dbos.dev/python/tutorials/step-tutorial). No
queue, no telemetry, a log of warnings only. What the database does at a commit is asserted, not
assumed. ``bare``: the tool is called without a step, against that page; the workflow's own result
is then the only record of the outcome.
"""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from importlib.metadata import version
from typing import Any

import sqlalchemy
from dbos import DBOS, SetWorkflowID
from measuring import ARGUMENTS, RESULT, measure


async def tool(arguments: dict[str, Any]) -> dict[str, Any]:
    return RESULT


as_step = DBOS.step(name="tool")(tool)


@DBOS.workflow()
async def act(arguments: dict[str, Any]) -> dict[str, Any]:
    return await as_step(arguments)


@DBOS.workflow()
async def act_bare(arguments: dict[str, Any]) -> dict[str, Any]:
    return await tool(arguments)


def durability() -> str:
    """How the database forces a commit, asked on the connections that DBOS really uses."""
    from dbos._dbos import _get_dbos_instance  # there is no public way to ask

    engine = _get_dbos_instance()._sys_db.engine
    with engine.connect() as db:
        if engine.dialect.name == "sqlite":
            synchronous = db.execute(sqlalchemy.text("PRAGMA synchronous")).scalar()
            journal = db.execute(sqlalchemy.text("PRAGMA journal_mode")).scalar()
            assert synchronous in (2, 3), f"commits are not forced to the disk: {synchronous}"
            return f"synchronous={synchronous}, journal_mode={journal}"
        fsync, commit = (
            db.execute(sqlalchemy.text(f"SHOW {name}")).scalar()
            for name in ("fsync", "synchronous_commit")
        )
        assert (fsync, commit) == ("on", "on"), f"commits are not durable: {fsync}, {commit}"
        return f"fsync={fsync}, synchronous_commit={commit}"


async def run(callers: int, actions: int, bare: bool) -> dict[str, Any]:
    workflow = act_bare if bare else act

    async def one() -> None:
        with SetWorkflowID(str(uuid.uuid4())):
            said = await workflow(ARGUMENTS)
        assert said == RESULT

    return await measure(one, callers, actions)


def main(url: str, callers: int, actions: int, bare: bool) -> None:
    DBOS(
        config={
            "name": "bench",
            "system_database_url": url,
            "log_level": "WARNING",
            "enable_otlp": False,
            "run_admin_server": False,
        }
    )
    DBOS.launch()
    settings = durability()
    measured = asyncio.run(run(callers, actions, bare))
    print(json.dumps({"what": f"dbos {version('dbos')}", "settings": settings, **measured}))
    DBOS.destroy()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:] == ["bare"])
