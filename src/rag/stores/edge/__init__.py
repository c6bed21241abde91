"""The document store on Qdrant Edge, the engine in this process."""
