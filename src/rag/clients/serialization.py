"""Settings in the serialised form of a component."""

from __future__ import annotations

from typing import Any, get_type_hints

from rag.config import ModelsConfig, OllamaConfig


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
