"""Settings in the serialised form of a component."""

from __future__ import annotations

from typing import Any

from rag.config import OllamaConfig


def with_config(data: dict[str, Any]) -> dict[str, Any]:
    """Make the `[ollama]` settings in a component's serialised form, if it has any."""
    parameters = data["init_parameters"]
    given = parameters.get("config")
    config = None if given is None else OllamaConfig(**given)
    return {**data, "init_parameters": {**parameters, "config": config}}
