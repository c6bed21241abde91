"""The providers of models that settings may name: one more is a line here and a module.

`rag.clients.factory` makes them of the module, relative to `rag.clients`, and the class.
"""

from __future__ import annotations

AUTO = "auto"  # what the index was made with; else what there is
NO_PROVIDER = "none"
EMBEDDING_PROVIDERS = {
    "builtin": (".local.builtin_provider", "BuiltinEmbeddings"),
    "ollama": (".ollama.providers", "OllamaEmbeddings"),
    "onnx": (".local.onnx_provider", "OnnxEmbeddings"),
    "openai": (".openai.providers", "OpenAIEmbeddings"),
    NO_PROVIDER: (".no_models", "NoEmbeddings"),
}
CHAT_PROVIDERS = {
    "ollama": (".ollama.providers", "OllamaChat"),
    "openai": (".openai.providers", "OpenAIChat"),
    NO_PROVIDER: (".no_models", "NoChat"),
}
