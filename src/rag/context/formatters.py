"""From a window to what a model is sent.

System items come first, then context, then the conversation in order of time. Messages of one
role that follow each other become one, so that roles alternate. Who speaks is decided by where
an item comes from: only a system item speaks as system and only a tool's item as tool, whatever
the metadata of retrieved or remembered text says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from rag.context.models import ContextItem, ContextWindow, SourceType

if TYPE_CHECKING:
    from haystack.dataclasses import ChatMessage

_APART = "\n\n"
# A line of somebody's text that looks like one of ours in the plain text format.
_OURS = re.compile(
    r"^(?==== (?:SYSTEM|CONTEXT|CONVERSATION) ===|\[(?:system|user|assistant|tool)\] )",
    re.MULTILINE,
)

# By source, the role that its items may claim besides the user's.
_BELIEVED = {
    SourceType.CONVERSATION: ("assistant",),
    SourceType.MEMORY: ("assistant",),
    SourceType.TOOL: ("tool",),
}
# By source, what its items have to claim to be part of the conversation; nothing where all are.
_SAID: dict[SourceType, tuple[str, ...]] = {
    SourceType.CONVERSATION: (),
    SourceType.USER: (),
    SourceType.MEMORY: ("user", "assistant"),
    SourceType.TOOL: ("tool",),
}


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
    claims = _SAID.get(item.source)
    return claims is not None and (not claims or item.metadata.get("role") in claims)


def role_of(item: ContextItem) -> str:
    """Return who says an item: `system`, `user`, `assistant` or `tool`."""
    if item.source == SourceType.SYSTEM:
        return "system"
    claimed: str = item.metadata.get("role", "")
    return claimed if claimed in _BELIEVED.get(item.source, ()) else "user"


def merged(messages: Iterable[Message]) -> list[Message]:
    """Join messages of one role that follow each other."""
    return [
        Message(role, _APART.join(message.content for message in run))
        for role, run in groupby(messages, key=attrgetter("role"))
    ]


def _said(items: Iterable[ContextItem], tool: str = "tool") -> list[Message]:
    """Return what items say; `tool` is the role that a tool has."""
    roles = ((role_of(item), item) for item in items)
    return merged(Message(tool if role == "tool" else role, item.content) for role, item in roles)


class AnthropicFormatter:
    """`{"system": …, "messages": […]}`, as Anthropic's Messages API takes it."""

    format_type = "anthropic"

    def format(self, window: ContextWindow) -> dict[str, Any]:
        """Return the system prompt, and messages of `user` and `assistant` by turns."""
        parts = parts_of(window)
        said = _said([*parts.context, *parts.conversation], tool="user")
        return {
            "system": _APART.join(item.content for item in parts.system),
            "messages": [message._asdict() for message in said],
        }


class OpenAIFormatter:
    """`{"messages": […]}`, as OpenAI's chat completions take it."""

    format_type = "openai"

    def format(self, window: ContextWindow) -> dict[str, Any]:
        """Return messages of `system`, `user`, `assistant` and `tool`."""
        said = _said(item for part in parts_of(window) for item in part)
        return {"messages": [message._asdict() for message in said]}


class GenericTextFormatter:
    """Plain text under headings, for any model and for reading.

    Text that holds a line like our headings has it moved in by a space, so that nothing that was
    found or said begins a part of its own.
    """

    format_type = "generic"

    def format(self, window: ContextWindow) -> str:
        """Return the parts that there are, each under its heading."""
        parts = parts_of(window)
        texts = {
            "SYSTEM": [item.content for item in parts.system],
            "CONTEXT": [_moved_in(item.content) for item in parts.context],
            "CONVERSATION": [
                f"[{message.role}] {_moved_in(message.content)}"
                for message in _said(parts.conversation)
            ],
        }
        return _APART.join(
            f"=== {name} ===\n{_APART.join(said)}" for name, said in texts.items() if said
        )


def _moved_in(text: str) -> str:
    may_look_so = "===" in text or "[" in text  # looking at each line takes much longer
    return _OURS.sub(" ", text) if may_look_so else text


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
        said = _said((item for part in parts_of(window) for item in part), tool="user")
        return [make[message.role](message.content) for message in said]
