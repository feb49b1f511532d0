"""A scripted chat model for LangChain, for examples without a key."""

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage


class ScriptedChat(GenericFakeChatModel):
    """Says its messages in their order, whatever the tools are."""

    def bind_tools(self, tools, **kwargs):
        return self


def asks(id, issue, order="order_id"):
    given = {order: "A123", "issue": issue}
    call = {"name": "open_ticket", "args": given, "id": id, "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


def scripted_chat(order="order_id"):
    """It plans anew after the first call: other words, another id."""
    said = AIMessage("Your ticket is T900; its result is pending.")
    script = [
        asks("call_1", "noise in the left ear", order),
        asks("call_2", "it buzzes on the left", order), said,
    ]  # fmt: skip
    return ScriptedChat(messages=iter(script))
