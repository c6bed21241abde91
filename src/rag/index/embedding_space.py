"""Which embeddings an index holds: what made them, and how many of its chunks have one."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from rag.exceptions import IndexUnavailableError, Remedy
from rag.index.manifest import UNEMBEDDED, Manifest

if TYPE_CHECKING:
    from rag.clients.protocols import EmbeddingProvider

# Raise it when the text that a chunk is embedded by changes.
TEXT_VERSION = 1
_KEY = "embedding"
# Of the chunks that the model can read; with fewer, meaning would favour those that have one.
_ENOUGH = 0.9


@dataclass(frozen=True)
class Space:
    """What made some embeddings: those of two spaces cannot be compared.

    :param digest: of the model's weights; empty where the server does not tell.
    """

    model: str
    digest: str
    dimension: int
    document_prefix: str
    version: int = TEXT_VERSION

    @property
    def key(self) -> str:
        """The same as text."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    def is_configured(self, provider: EmbeddingProvider) -> bool:
        """Return whether the settings ask for embeddings of this space, as far as they know."""
        return (
            provider.is_model(self.model)
            and self.document_prefix == provider.document_prefix
            and self.version == TEXT_VERSION
        )


@dataclass(frozen=True)
class Embedded:
    """How far the chunks of an index are embedded.

    :param embedded: how many have an embedding.
    :param unreadable: how many have none since the model does not read their script.
    :param failed: how many have none since it failed on them.
    """

    space: Space
    chunks: int = 0
    embedded: int = 0
    unreadable: int = 0
    failed: int = 0

    @property
    def is_enough(self) -> bool:
        """Whether so many chunks have one that meaning may rank them."""
        return 0 < self.embedded >= _ENOUGH * (self.chunks - self.unreadable)

    def to_json(self) -> dict[str, Any]:
        """Return all facts as one flat mapping."""
        counts = {k: v for k, v in asdict(self).items() if k != "space"}
        return {**asdict(self.space), **counts}


def read_embedded(manifest: Manifest) -> Embedded | None:
    """Return what a manifest says of the embeddings; `None` when there are none."""
    facts = json.loads(manifest.get(_KEY) or "{}")
    if not facts:
        return None
    of_space = {field.name: facts.pop(field.name) for field in fields(Space)}
    return Embedded(Space(**of_space), **facts)


def record_embedded(manifest: Manifest, embedded: Embedded | None) -> None:
    """Write down what the index holds."""
    facts = {} if embedded is None else embedded.to_json()
    manifest.set(**{_KEY: json.dumps(facts, ensure_ascii=False)})


def may_lack_embeddings(
    manifest: Manifest, provider: EmbeddingProvider, reembed: bool = False
) -> bool:
    """Return, without reading the store or a server, whether there may be anything to embed."""
    embedded = read_embedded(manifest)
    return bool(
        reembed
        or embedded is None
        or manifest.get(UNEMBEDDED)
        # The second look is slow to import; most names are spelt as they were.
        or (embedded.space.model != provider.model and not embedded.space.is_configured(provider))
    )


def other_model(space: Space, provider: EmbeddingProvider) -> IndexUnavailableError:
    """Say that the index's embeddings cannot be used, and what to do."""
    same = provider.is_model(space.model)
    made = f"another version of {space.model}, or with another prefix" if same else f"{space.model}"
    wanted = "" if same else f", not {provider.model}"
    return IndexUnavailableError(
        f"the index's embeddings were made by {made}{wanted}",
        hint="Until they are rebuilt, search is by words.",
        remedy=Remedy.EMBED_ANEW,
    )
