"""Ollama as a provider of chat models."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

from rag.clients.reachability import check_listening
from rag.config import OllamaConfig
from rag.exceptions import ConfigError, Remedy

_TIMEOUTS = ("connect_timeout", "read_timeout", "request_timeout", "query_timeout")


class OllamaChat:
    """The chat models of the configured server; see `rag.clients.protocols.ChatProvider`.

    :param config: the `[ollama]` settings.
    """

    def __init__(self, config: OllamaConfig) -> None:
        self.config = config

    @property
    def is_configured(self) -> bool:
        """Whether there is a model to ask."""
        return self.config.enabled and bool(self.config.chat_model)

    def find_chat_model(self, deadline: float) -> str:
        """Return the name of the model that is to answer, which the server was asked for."""
        if not self.config.enabled:
            raise ConfigError("Ollama is switched off (ollama.enabled)", remedy=Remedy.SEE_DOCTOR)
        from rag.clients.ollama.chat import ChatModel

        check_listening([self.config.local_url])
        with closing(ChatModel(self._limited(deadline))) as chat:
            return chat.info.name

    def generator(self, model: str = "", seconds: float | None = None) -> Any:
        """Return a chat generator; no server is asked before it runs."""
        from rag.clients.ollama.chat_generator import OllamaGenerator

        config = self.config if seconds is None else self._limited(seconds)
        return OllamaGenerator(config, model, timeout=seconds)

    def _limited(self, seconds: float) -> OllamaConfig:
        return replace(
            self.config, **{name: min(getattr(self.config, name), seconds) for name in _TIMEOUTS}
        )
