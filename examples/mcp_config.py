"""What the proxy is told of the server of the examples: a file `ascertain.toml`."""

CONFIG = """\
[mcp]
name = "desk"
principal = "u7"
ledger = "sqlite:///{folder}/ledger.db"
pins = "{folder}/pins.json"

[mcp.tools.open_ticket]
identity = ["order"]
wording = ["issue"]
key = {{ argument = "request" }}
receipt = "ticket"

[mcp.tools.open_ticket.lookup]
tool = "find_tickets"
arguments = {{ request = "{{key}}" }}
items = "result"
ref = "ticket"
absence_final_after = "0s"

[mcp.tools.find_tickets]
access = "read"
"""
