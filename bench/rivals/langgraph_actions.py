"""LangGraph: a graph with one node, whose checkpoints are written before and after it.

    python bench/rivals/langgraph_actions.py URL CALLERS ACTIONS

Its documented durable setting: ``durability="sync"`` writes a checkpoint before the next step
begins. Each action is a thread of its own. What the database does at a commit is asserted.
"""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from measuring import ARGUMENTS, RESULT, measure


class State(TypedDict, total=False):
    arguments: dict[str, Any]
    result: dict[str, Any]


async def tool(state: State) -> State:
    return {"result": RESULT}


@asynccontextmanager
async def saver(url: str) -> AsyncIterator[tuple[Any, str]]:
    """The checkpointer, and how its database forces a commit."""
    if url.startswith("sqlite"):
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        path = url.removeprefix("sqlite:///")
        async with AsyncSqliteSaver.from_conn_string(path) as made:
            await made.setup()
            (synchronous,) = await (await made.conn.execute("PRAGMA synchronous")).fetchone()
            (journal,) = await (await made.conn.execute("PRAGMA journal_mode")).fetchone()
            assert synchronous in (2, 3), f"commits are not forced to the disk: {synchronous}"
            yield made, f"synchronous={synchronous}, journal_mode={journal}"
        return
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg.rows import dict_row
    from psycopg_pool import AsyncConnectionPool

    how = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with AsyncConnectionPool(url, min_size=16, max_size=16, kwargs=how) as pool:
        made = AsyncPostgresSaver(pool)
        await made.setup()
        async with pool.connection() as db:
            said = [
                (await (await db.execute(f"SHOW {name}")).fetchone())[name]
                for name in ("fsync", "synchronous_commit")
            ]
        assert said == ["on", "on"], f"commits are not durable: {said}"
        yield made, f"fsync={said[0]}, synchronous_commit={said[1]}, pool of 16"


async def run(url: str, callers: int, actions: int) -> dict[str, Any]:
    graph = StateGraph(State)
    graph.add_node("tool", tool)
    graph.add_edge(START, "tool")
    graph.add_edge("tool", END)
    async with saver(url) as (made, settings):
        app = graph.compile(checkpointer=made)

        async def one() -> None:
            config = {"configurable": {"thread_id": str(uuid.uuid4())}}
            said = await app.ainvoke({"arguments": ARGUMENTS}, config, durability="sync")
            assert said["result"] == RESULT

        measured = await measure(one, callers, actions)
    return {"what": f"langgraph {version('langgraph')}", "settings": settings, **measured}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))))
