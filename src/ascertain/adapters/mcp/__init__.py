"""A proxy in front of any MCP server: every call of its tools ends in a known truth.

``ascertain mcp -- COMMAND...`` runs it. It needs the ``mcp`` extra; some frameworks pin an older
SDK than that, so it is a process of its own.
"""
