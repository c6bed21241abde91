"""Whoever runs models: servers of Ollama and of OpenAI's API, and models on this machine.

Names load on first use, since the HTTP client takes 0.2 s to import and Haystack half a second.
"""

from __future__ import annotations

from rag.support.lazy_imports import lazy_names

_HOMES = {
    "rag.clients.providers": ("check_connection", "generate_response", "get_embedding"),
    "rag.clients.chat_generators": ("OllamaGenerator", "OpenAIGenerator"),
    "rag.clients.protocols": ("Response",),
}
__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
