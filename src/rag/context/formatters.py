"""From a window to what a model is sent.

System items come first, then context, then the conversation in order of time. Messages of one
role that follow each other become one, so that roles alternate. Who speaks is decided by where
an item comes from: only a system item speaks as system and only a tool's item as tool, whatever
the metadata of retrieved or remembered text says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from rag.context.models import ContextItem, ContextWindow, Formatter, SourceType
from rag.support.plugins import FORMATTERS, canonical, find_plugin

if TYPE_CHECKING:
    from haystack.dataclasses import ChatMessage

_APART = "\n\n"
# A line of somebody's text that looks like one of ours in the plain text format.
_OURS = re.compile(
    r"^(?==== (?:SYSTEM|MEMORY|CONTEXT|CONVERSATION) ===|\[(?:system|user|assistant|tool)\] )",
    re.MULTILINE,
)
# By source, the role that its items may claim besides the user's.
_BELIEVED = {
    SourceType.CONVERSATION: "assistant",
    SourceType.MEMORY: "assistant",
    SourceType.TOOL: "tool",
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
        claims = _SAID.get(item.source)
        if item.source == SourceType.SYSTEM:
            parts.system.append(item)
        elif claims is not None and (not claims or item.metadata.get("role") in claims):
            parts.conversation.append(item)
        else:
            parts.context.append(item)
    parts.conversation.sort(key=lambda item: item.created_at)
    return parts


def role_of(item: ContextItem) -> str:
    """Return who says an item: `system`, `user`, `assistant` or `tool`."""
    if item.source == SourceType.SYSTEM:
        return "system"
    believed = _BELIEVED.get(item.source)
    return believed if believed and item.metadata.get("role") == believed else "user"


def merged(messages: Iterable[Message]) -> list[Message]:
    """Join messages of one role that follow each other."""
    return [
        Message(role, _APART.join(message.content for message in run))
        for role, run in groupby(messages, key=attrgetter("role"))
    ]


def _messages(items: Iterable[ContextItem], tool: str = "tool") -> list[Message]:
    """Return what items say; `tool` is the role that a tool has."""
    roles = ((role_of(item), item) for item in items)
    return merged(Message(tool if role == "tool" else role, item.content) for role, item in roles)


class AnthropicFormatter:
    """`{"system": …, "messages": […]}`, as Anthropic's Messages API takes it."""

    format_type = "anthropic"

    def format(self, window: ContextWindow) -> dict[str, Any]:
        """Return the system prompt, and messages of `user` and `assistant` by turns."""
        system, *others = parts_of(window)
        messages = _messages((item for part in others for item in part), tool="user")
        return {
            "system": _APART.join(item.content for item in system),
            "messages": [message._asdict() for message in messages],
        }


class OpenAIFormatter:
    """`{"messages": […]}`, as OpenAI's chat completions take it."""

    format_type = "openai"

    def format(self, window: ContextWindow) -> dict[str, Any]:
        """Return messages of `system`, `user`, `assistant` and `tool`."""
        messages = _messages(item for part in parts_of(window) for item in part)
        return {"messages": [message._asdict() for message in messages]}


class GenericTextFormatter:
    """Plain text under headings, for any model and for reading.

    Text that holds a line like our headings has it moved in by a space, so that nothing that was
    found or said begins a part of its own.
    """

    format_type = "generic"

    def format(self, window: ContextWindow) -> str:
        """Return the parts that there are, each under its heading."""
        parts = parts_of(window)
        facts = [item for item in parts.context if item.source == SourceType.MEMORY]
        others = [item for item in parts.context if item.source != SourceType.MEMORY]
        texts = {
            "SYSTEM": [item.content for item in parts.system],
            "MEMORY": [_moved_in(item.content) for item in facts],
            "CONTEXT": [_moved_in(item.content) for item in others],
            "CONVERSATION": [
                f"[{message.role}] {_moved_in(message.content)}"
                for message in _messages(parts.conversation)
            ],
        }
        return _APART.join(
            f"=== {name} ===\n{_APART.join(lines)}" for name, lines in texts.items() if lines
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
        messages = _messages((item for part in parts_of(window) for item in part), tool="user")
        return [make[message.role](message.content) for message in messages]


_BUILT_IN: dict[str, Callable[[], Formatter]] = {
    canonical(maker.format_type): maker
    for maker in (AnthropicFormatter, ChatMessageFormatter, GenericTextFormatter, OpenAIFormatter)
}


def find_formatter(name: str) -> Formatter:
    """Make a formatter by its `format_type`, or by the name of an entry point of `rag.formatters`:
    a callable without arguments, such as a class. Built-in names come first.

    :param name: with `-` or `_` and in any case.
    :raises UsageError: for a name that nothing has, with the nearest ones.
    :raises RAGError: when a plug-in fails, or makes something else.
    """
    if maker := _BUILT_IN.get(canonical(name)):
        return maker()
    formatter: Formatter = find_plugin(
        FORMATTERS, name, "format", Formatter, "formatter", [*_BUILT_IN]
    )
    return formatter
