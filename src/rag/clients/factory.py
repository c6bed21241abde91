"""The providers of models; another one of embeddings is a line here, and chosen by a setting."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from rag.exceptions import ConfigError, Remedy

if TYPE_CHECKING:
    from rag.clients.protocols import ChatProvider, EmbeddingProvider
    from rag.config import OllamaConfig

# Name -> the module and the class, which is made of the `[ollama]` settings.
EMBEDDING_PROVIDERS = {"ollama": ("rag.clients.ollama.embedding_provider", "OllamaEmbeddings")}


def embedding_provider(config: OllamaConfig) -> EmbeddingProvider:
    """Return who makes vectors; no server is asked.

    :raises ConfigError: when the settings name one that does not exist.
    """
    name = config.embedding_provider
    if name not in EMBEDDING_PROVIDERS:
        raise ConfigError(
            f"ollama.embedding_provider: there is no provider {name!r}",
            hint=f"There are: {', '.join(sorted(EMBEDDING_PROVIDERS))}.",
            remedy=Remedy.LIST_SETTINGS,
        )
    module, kind = EMBEDDING_PROVIDERS[name]
    made: EmbeddingProvider = getattr(import_module(module), kind)(config)
    return made


def chat_provider(config: OllamaConfig) -> ChatProvider:
    """Return who runs chat models; no server is asked."""
    from rag.clients.ollama.chat_provider import OllamaChat

    return OllamaChat(config)
