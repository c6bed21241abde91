"""Nobody: search is by words, answers are quotations, and no server is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rag.clients.protocols import Batches, EmbeddingIdentity, ServerView, Settings
from rag.config import ModelsConfig
from rag.exceptions import LIST_SETTINGS, ConfigError


@dataclass
class _Nobody:
    config: ModelsConfig
    is_configured = False
    model = ""

    def forget_silence(self) -> None:
        """Remember nothing, and so forget nothing."""

    def survey(self) -> list[ServerView]:
        """Return no server."""
        return []


class NoEmbeddings(_Nobody):
    """Makes no vectors: `embedding.provider` is `none`."""

    lacking = "who makes vectors: embedding.provider is none"
    document_prefix = runtime = ""

    def is_model(self, name: str) -> bool:
        """Return that no name is that of a model."""
        return False

    def check_configured(self) -> None:
        """Refuse to go on.

        :raises ConfigError: always.
        """
        raise ConfigError("nobody makes vectors: embedding.provider is none", hint=LIST_SETTINGS)

    check_listening = check_configured

    def at(self, server: str, seconds: float) -> NoEmbeddings:
        """Return itself."""
        return self

    def identity(self, whole: bool = False) -> EmbeddingIdentity:
        """Refuse to go on."""
        self.check_configured()
        raise AssertionError

    def embed_query(self, texts: Sequence[str], dimension: int = 0) -> list[list[float] | None]:
        """Refuse to go on."""
        self.check_configured()
        raise AssertionError

    def embed_documents(
        self,
        texts: Iterable[str],
        measure: Callable[[str], int],
        limit: int = 0,
        dimension: int = 0,
        patient: bool = True,
    ) -> Batches:
        """Refuse to go on, before the first text is taken."""
        self.check_configured()
        yield from ()

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        """Return that nothing is read."""
        return False

    def close(self) -> None:
        """Do nothing: there are no connections."""


class NoChat(_Nobody):
    """Writes nothing: `chat.provider` is `none`."""

    is_off = True

    def with_model(self, config: Settings, model: str) -> Settings:
        """Return the settings as they are: nobody runs the model."""
        return config

    def check_listening(self) -> None:
        """Refuse to go on.

        :raises ConfigError: always.
        """
        raise ConfigError("nobody writes: chat.provider is none", hint=LIST_SETTINGS)

    def find_chat_model(self, deadline: float) -> str:
        """Refuse to go on."""
        self.check_listening()
        raise AssertionError

    def context_window(self, model: str = "") -> int:
        """Return what the settings say."""
        return self.config.ollama.max_context

    def generator(self, model: str = "", seconds: float | None = None) -> Any:
        """Refuse to go on."""
        self.check_listening()

    def answer_generator(self, model: str, think: bool, temperature: float, tokens: int) -> Any:
        """Refuse to go on."""
        self.check_listening()
