"""An MCP server whose one tool appends a line to a file, and answers too late or with an error."""

import sys
from pathlib import Path

import anyio
from mcp.server.mcpserver import MCPServer

server = MCPServer("desk")
NOTES = Path(sys.argv[1])
NOTES.touch()


def write(text):
    NOTES.write_text(f"{NOTES.read_text()}{text}\n")


@server.tool()
async def add_note(text: str) -> str:
    """Append a note."""
    write(text)
    if text.startswith("late"):
        await anyio.Event().wait()
    if text.startswith("broken"):
        raise RuntimeError("the disk said something odd")
    return f"note {text}"


server.run("stdio")
