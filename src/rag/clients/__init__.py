"""Ollama: is it there, which models it has, vectors and answers from them, and clear errors.

Names load on first use, since the HTTP client takes 0.2 s to import and Haystack half a second.
"""

from __future__ import annotations

from rag.lazy import lazy_names

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
__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
