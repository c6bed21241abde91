"""The notes for agents and editors: a server of the Model Context Protocol over standard streams.

It is a thin adapter over `rag.app`. Nothing that takes long to import is imported before the first
messages of a client are answered: see `rag.mcp.protocol`.
"""
