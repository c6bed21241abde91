"""From a window to what a model is sent.

System items come first, then context, then the conversation in order of time. Messages of one
role that follow each other become one, so that roles alternate. Who speaks is decided by where
an item comes from: only a system item speaks as system and only a tool's item as tool, whatever
the metadata of retrieved or remembered text says.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from rag.context.models import ContextItem, ContextWindow, SourceType

if TYPE_CHECKING:
    from haystack.dataclasses import ChatMessage

_APART = "\n\n"


class Message(NamedTuple):
    """What one role says."""

    role: str
    content: str


class Parts(NamedTuple):
    """A window's items, by where they go; each in the order in which it is to be said."""

    system: list[ContextItem]
    context: list[ContextItem]
    conversation: list[ContextItem]


def parts_of(window: ContextWindow) -> Parts:
    """Divide a window; a remembered message belongs to the conversation, a remembered fact not."""
    parts = Parts([], [], [])
    for item in window.items:
        if item.source == SourceType.SYSTEM:
            parts.system.append(item)
        elif _is_said(item):
            parts.conversation.append(item)
        else:
            parts.context.append(item)
    parts.conversation.sort(key=lambda item: item.created_at)
    return parts


def _is_said(item: ContextItem) -> bool:
    if item.source in (SourceType.CONVERSATION, SourceType.USER):
        return True
    if item.source == SourceType.MEMORY:
        return item.metadata.get("role") in ("user", "assistant")
    return role_of(item) == "tool"


def role_of(item: ContextItem) -> str:
    """Return who says an item: `system`, `user`, `assistant` or `tool`."""
    claimed = item.metadata.get("role")
    if item.source == SourceType.SYSTEM:
        return "system"
    if item.source == SourceType.TOOL and claimed == "tool":
        return "tool"
    remembered = item.source in (SourceType.CONVERSATION, SourceType.MEMORY)
    return "assistant" if remembered and claimed == "assistant" else "user"


def merged(messages: Iterable[Message]) -> list[Message]:
    """Join messages of one role that follow each other."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            joined[-1] = Message(message.role, joined[-1].content + _APART + message.content)
        else:
            joined.append(message)
    return joined


def _said(items: Iterable[ContextItem]) -> list[Message]:
    return merged(Message(role_of(item), item.content) for item in items)


class AnthropicFormatter:
    """`{"system": …, "messages": […]}`, as Anthropic's Messages API takes it."""

    format_type = "anthropic"

    def format(self, window: ContextWindow) -> dict[str, Any]:
        """Return the system prompt, and messages of `user` and `assistant` by turns."""
        parts = parts_of(window)
        said = (
            Message("assistant" if role_of(item) == "assistant" else "user", item.content)
            for item in [*parts.context, *parts.conversation]
        )
        return {
            "system": _APART.join(item.content for item in parts.system),
            "messages": [message._asdict() for message in merged(said)],
        }


class OpenAIFormatter:
    """`{"messages": […]}`, as OpenAI's chat completions take it."""

    format_type = "openai"

    def format(self, window: ContextWindow) -> dict[str, Any]:
        """Return messages of `system`, `user`, `assistant` and `tool`."""
        said = _said(item for part in parts_of(window) for item in part)
        return {"messages": [message._asdict() for message in said]}


class GenericTextFormatter:
    """Plain text under headings, for any model and for reading."""

    format_type = "generic"

    def format(self, window: ContextWindow) -> str:
        """Return the parts that there are, each under its heading."""
        parts = parts_of(window)
        spoken = [f"[{role_of(item)}] {item.content}" for item in parts.conversation]
        texts = {
            "SYSTEM": [item.content for item in parts.system],
            "CONTEXT": [item.content for item in parts.context],
            "CONVERSATION": spoken,
        }
        return _APART.join(
            f"=== {name} ===\n{_APART.join(said)}" for name, said in texts.items() if said
        )


class ChatMessageFormatter:
    """Haystack's `ChatMessage`s, for its chat generators."""

    format_type = "chat_messages"

    def format(self, window: ContextWindow) -> list[ChatMessage]:
        """Return messages of `system`, `user` and `assistant`; a tool's are the user's, since
        there is no call that they answer."""
        from haystack.dataclasses import ChatMessage

        make = {
            "system": ChatMessage.from_system,
            "user": ChatMessage.from_user,
            "assistant": ChatMessage.from_assistant,
        }
        said = (
            Message("user" if role_of(item) == "tool" else role_of(item), item.content)
            for part in parts_of(window)
            for item in part
        )
        return [make[message.role](message.content) for message in merged(said)]
