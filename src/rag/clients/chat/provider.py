"""What providers of chat models do alike."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag.clients.servers.provider import ServerProvider
from rag.config import ModelsConfig
from rag.exceptions import RAGError

if TYPE_CHECKING:
    from rag.clients.chat.generator import ChatConnection

_TIMEOUTS = ("read_timeout", "request_timeout", "connect_timeout", "query_timeout")


class ServerChat(ServerProvider):
    """A base of providers; see `rag.clients.protocols.ChatProvider`.

    A provider says which classes it has for connections (`_connection`) and for generators
    (`_generators`), and which part of the settings they take (`_section`).
    """

    config: ModelsConfig

    def _connection(self, config: ModelsConfig, model: str = "") -> ChatConnection:
        """Return a connection to the configured model, or to another one of its server."""
        raise NotImplementedError

    def _generators(self) -> tuple[Any, Any]:
        """Return the class of chat generators, and that of those that answer questions."""
        raise NotImplementedError

    def _section(self, config: ModelsConfig) -> Any:
        """Return the settings that generators take."""
        return config

    def find_chat_model(self, deadline: float) -> str:
        """Return the name of the model that is to answer, which the server was asked for."""
        self.check_listening()
        with closing(self._connection(self._limited(deadline))) as chat:
            return chat.name

    def context_window(self, model: str = "") -> int:
        """Return the tokens of prompt and answer together."""
        try:
            with closing(self._connection(self.config, model)) as chat:
                return chat.window
        except RAGError:  # another generator may answer, which does without the server
            return self.config.ollama.max_context

    def generator(self, model: str = "", seconds: float | None = None) -> Any:
        """Return a chat generator; no server is asked before it runs."""
        config = self.config if seconds is None else self._limited(seconds)
        generator, _ = self._generators()
        return generator(self._section(config), model, timeout=seconds)

    def answer_generator(self, model: str, think: bool, temperature: float, tokens: int) -> Any:
        """Return the chat generator that answers questions."""
        options = {"temperature": temperature, "num_predict": tokens}
        _, generator = self._generators()
        return generator(self._section(self.config), model, think, generation_kwargs=options)

    def _limited(self, seconds: float) -> ModelsConfig:
        """Return settings by which nothing is waited for longer."""
        limits = self.config.ollama
        shorter = {name: min(getattr(limits, name), seconds) for name in _TIMEOUTS}
        return replace(self.config, ollama=replace(limits, **shorter))
