"""Ollama: its HTTP API, embedders and chat."""
