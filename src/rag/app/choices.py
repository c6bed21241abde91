"""What a request chooses against the settings."""

from __future__ import annotations

from dataclasses import replace

from rag.config import RAGConfig


def with_model(config: RAGConfig, model: str, no_model: bool, think: bool) -> RAGConfig:
    """Return the settings with the model that was chosen for a question.

    :param model: which must answer; "" for that of the settings.
    :param no_model: ask none.
    """
    from rag.clients.factory import chat_provider  # a list of conversations does without

    if model:  # whoever insists on one wants it asked, whatever was found a minute ago
        chat_provider(config).forget_silence()
    if no_model:
        config = chat_provider(config).with_model(config, "")
    return replace(config, ask=replace(config.ask, think=think or config.ask.think))
