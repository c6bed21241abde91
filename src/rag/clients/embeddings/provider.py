"""What providers of embeddings do alike whose models run on servers."""

from __future__ import annotations

from rag.clients.servers.provider import ServerProvider
from rag.config import ModelsConfig


class ServerEmbeddings(ServerProvider):
    """A base of providers; see `rag.clients.protocols.EmbeddingProvider`.

    What a model wants of its texts and which scripts it reads is known by its name, unless the
    section `[ollama]` says it.
    """

    config: ModelsConfig
    runtime = ""

    @property
    def model(self) -> str:
        """The name of the configured model."""
        raise NotImplementedError

    @property
    def document_prefix(self) -> str:
        """What is put before a text of a note."""
        from rag.clients.embeddings.model_traits import chosen_traits

        return chosen_traits(self.model, self.config.ollama).document_prefix

    def is_model(self, name: str) -> bool:
        """Return whether a name is that of the configured model, with its tag or without."""
        from rag.clients.embeddings.model_traits import full_name

        return full_name(name) == full_name(self.model)

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        """Return whether the model reads the scripts of a text, or most of it."""
        from rag.clients.embeddings.model_traits import reads_script

        return reads_script(self.model, self.config.ollama, text, mostly)
