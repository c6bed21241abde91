"""Servers that speak the HTTP API of OpenAI: llama.cpp, LM Studio, vLLM and others."""
