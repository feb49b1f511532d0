"""Other ways to make a tool call durable, each measured in a process of its own."""
