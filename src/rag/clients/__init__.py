"""Ollama: is it there, which models it has, vectors and answers from them, and clear errors.

Names load on first use, since the HTTP client takes 0.2 s to import and Haystack half a second.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "rag.clients.connection": ("Connection", "check_connection", "check_servers"),
    "rag.clients.embedding": ("OllamaChunkEmbedder", "OllamaQueryEmbedder"),
    "rag.clients.generation": ("ChatModel", "Response", "generate_response"),
    "rag.clients.generator": ("OllamaGenerator",),
    "rag.clients.models": (
        "ModelInfo",
        "Traits",
        "describe_model",
        "pick_chat_model",
        "traits",
    ),
    "rag.clients.streaming": ("EmbeddedBatch", "QueryVectors", "embed_texts", "get_embedding"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
