"""The providers of models, of whom the settings choose; `rag.config.providers` lists them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rag.config.providers import CHAT_PROVIDERS, EMBEDDING_PROVIDERS
from rag.exceptions import ConfigError, Remedy

if TYPE_CHECKING:
    from rag.clients.protocols import ChatProvider, EmbeddingProvider
    from rag.config import ModelsConfig

_KNOWN = {"embedding": EMBEDDING_PROVIDERS, "chat": CHAT_PROVIDERS}


def embedding_provider(config: ModelsConfig) -> EmbeddingProvider:
    """Return who makes vectors; no server is asked.

    :raises ConfigError: when the settings name one that does not exist.
    """
    made: EmbeddingProvider = _made("embedding", config.embedding.provider, config)
    return made


def chat_provider(config: ModelsConfig) -> ChatProvider:
    """Return who runs chat models; no server is asked.

    :raises ConfigError: when the settings name one that does not exist.
    """
    made: ChatProvider = _made("chat", config.chat.provider, config)
    return made


def _made(section: str, name: str, config: ModelsConfig) -> Any:
    """Make the provider that a section names; settings that were not read from files may name one
    that does not exist."""
    known = _KNOWN[section]
    if name not in known:
        raise ConfigError(
            f"{section}.provider: there is no provider {name!r}",
            hint=f"There are: {', '.join(known)}.",
            remedy=Remedy.LIST_SETTINGS,
        )
    module, kind = known[name]
    return getattr(import_module(module, __package__), kind)(config)
