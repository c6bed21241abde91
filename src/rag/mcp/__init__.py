"""The notes for agents and editors: a server of the Model Context Protocol, a thin adapter over
`rag.app`, of which nothing that takes long is imported before a client is connected."""
