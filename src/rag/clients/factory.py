"""The providers that the settings ask for; another one is chosen here."""

from __future__ import annotations

from rag.clients.protocols import ChatProvider, EmbeddingProvider
from rag.config import OllamaConfig


def embedding_provider(config: OllamaConfig) -> EmbeddingProvider:
    """Return who makes vectors; no server is asked."""
    from rag.clients.ollama.embedding_provider import OllamaEmbeddings

    return OllamaEmbeddings(config)


def chat_provider(config: OllamaConfig) -> ChatProvider:
    """Return who runs chat models; no server is asked."""
    from rag.clients.ollama.chat_provider import OllamaChat

    return OllamaChat(config)
