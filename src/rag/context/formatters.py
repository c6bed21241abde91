"""From a window to what a model is sent.

System items come first, then context, then the conversation in order of time. Messages of one
role that follow each other become one, so that roles alternate. Who speaks is decided by where
an item comes from: only a system item speaks as system and only a tool's item as tool, whatever
the metadata of retrieved or remembered text says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from rag.context.models import ContextItem, ContextWindow, Items, SourceType

_APART = "\n\n"
# A line of somebody's text that looks like one of ours in the plain text format.
_OURS = re.compile(
    r"^(?==== (?:SYSTEM|MEMORY|CONTEXT|CONVERSATION) ===|\[(?:system|user|assistant|tool)\] )",
    re.MULTILINE,
)
# By source, the roles that its items may claim.
_ROLES = {
    **dict.fromkeys((SourceType.CONVERSATION, SourceType.MEMORY), ("user", "assistant")),
    SourceType.TOOL: ("tool",),
}
_SAID = (SourceType.CONVERSATION, SourceType.USER)


def _has_role(item: ContextItem) -> bool:
    return item.metadata.get("role") in _ROLES.get(item.source, ())


def role_of(item: ContextItem) -> str:
    """Return who says an item: `system`, `user`, `assistant` or `tool`."""
    if item.source == SourceType.SYSTEM:
        return "system"
    return str(item.metadata["role"]) if _has_role(item) else "user"


def _parts(window: ContextWindow) -> tuple[Items, Items, Items]:
    """Divide a window into system items, context and conversation, to which a remembered message
    belongs, but no remembered fact."""
    system, context, conversation = Items(), Items(), Items()
    for item in window.items:
        if item.source == SourceType.SYSTEM:
            system.append(item)
        else:
            is_said = item.source in _SAID or _has_role(item)
            (conversation if is_said else context).append(item)
    return system, context, sorted(conversation, key=lambda item: item.created_at)


def merged(messages: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Return messages of a role and a text; those of one role that follow each other are one."""
    return [
        {"role": role, "content": _APART.join(text for _, text in run)}
        for role, run in groupby(messages, key=itemgetter(0))
    ]


def _messages(*parts: Items, tool: str = "user") -> list[dict[str, str]]:
    """Return what items say; `tool` is the role that a tool has."""
    spoken = ((role_of(item), item.content) for item in chain(*parts))
    return merged((tool if role == "tool" else role, text) for role, text in spoken)


class AnthropicFormatter:
    """`{"system": …, "messages": […]}`, as Anthropic's Messages API takes it."""

    format_type = "anthropic"

    def format(self, window: ContextWindow) -> dict[str, Any]:
        """Return the system prompt, and messages of `user` and `assistant` by turns."""
        system, *others = _parts(window)
        prompt = _APART.join(item.content for item in system)
        return {"system": prompt, "messages": _messages(*others)}


class OpenAIFormatter:
    """`{"messages": […]}`, as OpenAI's chat completions take it."""

    format_type = "openai"

    def format(self, window: ContextWindow) -> dict[str, Any]:
        """Return messages of `system`, `user`, `assistant` and `tool`."""
        return {"messages": _messages(*_parts(window), tool="tool")}


class GenericTextFormatter:
    """Plain text under headings, for any model and for reading.

    Text that holds a line like our headings has it moved in by a space, so that nothing that was
    found or said begins a part of its own.
    """

    format_type = "generic"

    def format(self, window: ContextWindow) -> str:
        """Return the parts that there are, each under its heading."""
        system, context, conversation = _parts(window)
        texts: dict[str, list[str]] = {name: [] for name in ("SYSTEM", "MEMORY", "CONTEXT")}
        texts["SYSTEM"] = [item.content for item in system]
        for item in context:
            name = "MEMORY" if item.source == SourceType.MEMORY else "CONTEXT"
            texts[name].append(_OURS.sub(" ", item.content))
        texts["CONVERSATION"] = [
            f"[{message['role']}] {_OURS.sub(' ', message['content'])}"
            for message in _messages(conversation, tool="tool")
        ]
        return _APART.join(
            f"=== {name} ===\n{_APART.join(lines)}" for name, lines in texts.items() if lines
        )
