"""What a provider of chat models or of embeddings is made of, whoever runs the models."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag.config import ModelsConfig
from rag.exceptions import RAGError

if TYPE_CHECKING:
    from rag.clients.chat.generator import ChatConnection
    from rag.clients.servers.reachability import Advice


class ServerProvider:
    """A base of providers; see `rag.clients.protocols.ModelProvider`."""

    @property
    def addresses(self) -> Sequence[str]:
        """The servers that are asked, any of which will do."""
        raise NotImplementedError

    @property
    def advice(self) -> Advice:
        """What to tell when none of them answers."""
        raise NotImplementedError

    def check_allowed(self) -> None:
        """Refuse to go on when the settings forbid to ask, or name nobody.

        :raises ConfigError: saying which.
        """
        raise NotImplementedError

    def check_listening(self) -> None:
        """Raise an error when it is plain that no server answers."""
        self.check_allowed()
        from rag.clients.servers.reachability import check_listening

        check_listening(self.addresses, self.advice)

    def forget_silence(self) -> None:
        """Ask the servers again, whatever is remembered of them."""
        from rag.clients.servers.silent_servers import forget

        forget(self.addresses)


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


class ServerEmbeddings(ServerProvider):
    """A base of providers; see `rag.clients.protocols.EmbeddingProvider`.

    What a model wants of its texts and which scripts it reads is known by its name, unless the
    section `[ollama]` says it.
    """

    config: ModelsConfig
    runtime = ""

    @property
    def model(self) -> str:
        """The name of the configured model."""
        raise NotImplementedError

    @property
    def document_prefix(self) -> str:
        """What is put before a text of a note."""
        from rag.clients.models import chosen_traits

        return chosen_traits(self.model, self.config.ollama).document_prefix

    def is_model(self, name: str) -> bool:
        """Return whether a name is that of the configured model, with its tag or without."""
        from rag.clients.models import full_name

        return full_name(name) == full_name(self.model)

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        """Return whether the model reads the scripts of a text, or most of it."""
        from rag.clients.models import reads_script

        return reads_script(self.model, self.config.ollama, text, mostly)
