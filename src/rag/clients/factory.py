"""The providers of models, of whom the settings choose; `rag.config.providers` lists them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING

from rag.config.providers import CHAT_PROVIDERS, EMBEDDING_PROVIDERS
from rag.exceptions import ConfigError, Remedy

if TYPE_CHECKING:
    from rag.clients.protocols import ChatProvider, EmbeddingProvider
    from rag.config import ModelsConfig


def embedding_provider(config: ModelsConfig) -> EmbeddingProvider:
    """Return who makes vectors; no server is asked.

    :raises ConfigError: when the settings name one that does not exist.
    """
    name = config.embedding.provider
    if name not in EMBEDDING_PROVIDERS:
        raise _unknown("embedding.provider", name, EMBEDDING_PROVIDERS)
    module, kind = EMBEDDING_PROVIDERS[name]
    made: EmbeddingProvider = getattr(import_module(module, __package__), kind)(config)
    return made


def chat_provider(config: ModelsConfig) -> ChatProvider:
    """Return who runs chat models; no server is asked.

    :raises ConfigError: when the settings name one that does not exist.
    """
    name = config.chat.provider
    if name not in CHAT_PROVIDERS:
        raise _unknown("chat.provider", name, CHAT_PROVIDERS)
    module, kind = CHAT_PROVIDERS[name]
    made: ChatProvider = getattr(import_module(module, __package__), kind)(config)
    return made


def _unknown(setting: str, name: str, known: Iterable[str]) -> ConfigError:
    """Return what settings that were not read from files may lack."""
    return ConfigError(
        f"{setting}: there is no provider {name!r}",
        hint=f"There are: {', '.join(known)}.",
        remedy=Remedy.LIST_SETTINGS,
    )
