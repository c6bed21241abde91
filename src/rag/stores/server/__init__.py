"""The document store on a Qdrant server."""
