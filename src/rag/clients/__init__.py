"""Ollama: is it there, which models it has, vectors and answers from them, and clear errors.

Names load on first use, since the HTTP client takes 0.2 s to import and Haystack half a second.
"""

from __future__ import annotations

from rag.support.lazy_imports import lazy_names

_HOMES = {
    "rag.clients.ollama.connection": ("Connection", "check_connection", "check_servers"),
    "rag.clients.ollama.embedders": ("OllamaChunkEmbedder", "OllamaQueryEmbedder"),
    "rag.clients.ollama.chat": ("ChatModel", "generate_response"),
    "rag.clients.protocols": ("Response",),
    "rag.clients.ollama.chat_generator": ("OllamaGenerator",),
    "rag.clients.embeddings.model_traits": ("Traits",),
    "rag.clients.embeddings.stream": ("EmbeddedBatch",),
    "rag.clients.ollama.model_info": (
        "ModelInfo",
        "describe_model",
        "pick_chat_model",
        "traits",
    ),
    "rag.clients.ollama.embedding_stream": (
        "QueryVectors",
        "embed_texts",
        "get_embedding",
    ),
}
__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
