"""Nobody: search is by words, answers are quotations, and no server is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from rag.clients.protocols import Batches, ServerView, Settings
from rag.config import ModelsConfig
from rag.exceptions import LIST_SETTINGS, ConfigError


@dataclass
class _Nobody:
    config: ModelsConfig
    is_configured = False
    model = ""
    why: ClassVar[str]

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        """Raise a `ConfigError`."""
        raise ConfigError(self.why, hint=LIST_SETTINGS)

    check_listening = refuse

    def close(self) -> None:
        """Do nothing: there are no connections."""

    def survey(self) -> list[ServerView]:
        """Return no server."""
        return []


class NoEmbeddings(_Nobody):
    """Makes no vectors: `embedding.provider` is `none`."""

    why = "nobody makes vectors: embedding.provider is none"
    lacking = "who makes vectors: embedding.provider is none"
    document_prefix = runtime = ""
    check_configured = at = identity = embed_query = _Nobody.refuse

    def is_model(self, name: str) -> bool:
        """Return that no name is that of a model."""
        return False

    def embed_documents(
        self,
        texts: Iterable[str],
        measure: Callable[[str], int],
        limit: int = 0,
        dimension: int = 0,
        patient: bool = True,
    ) -> Batches:
        """Refuse to go on, before the first text is taken."""
        self.refuse()
        yield

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        """Return that nothing is read."""
        return False


class NoChat(_Nobody):
    """Writes nothing: `chat.provider` is `none`."""

    why = "nobody writes: chat.provider is none"
    is_off = True
    find_chat_model = generator = answer_generator = _Nobody.refuse

    def with_model(self, config: Settings, model: str) -> Settings:
        """Return the settings as they are: nobody runs the model."""
        return config

    def context_window(self, model: str = "") -> int:
        """Return what the settings say."""
        return self.config.ollama.max_context
