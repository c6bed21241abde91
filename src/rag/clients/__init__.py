"""Ollama: is it there, which models it has, vectors and answers from them, and clear errors.

Names load on first use, since the HTTP client takes 0.2 s to import and Haystack half a second.
"""

from __future__ import annotations

from rag.support.lazy_imports import lazy_names

_HOMES = {
    "rag.clients.ollama.model_info": (
        "Connection",
        "check_connection",
        "check_servers",
        "ModelInfo",
        "describe_model",
        "pick_chat_model",
        "traits",
    ),
    "rag.clients.ollama.embedders": (
        "OllamaChunkEmbedder",
        "OllamaQueryEmbedder",
        "QueryVectors",
        "embed_texts",
        "get_embedding",
    ),
    "rag.clients.ollama.chat_generator": (
        "ChatModel",
        "generate_response",
        "OllamaGenerator",
    ),
    "rag.clients.protocols": ("Response",),
    "rag.clients.models": ("Traits",),
    "rag.clients.embeddings.batch_embedder": ("EmbeddedBatch",),
}
__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
