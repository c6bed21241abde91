"""Which embeddings an index holds: what made them, and how many of its chunks have one."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING

from rag.exceptions import EMBED_ANEW, IndexUnavailableError
from rag.index.manifest import UNEMBEDDED, Manifest
from rag.support.json_reports import hidden, inline, optional

if TYPE_CHECKING:
    from rag.clients.protocols import EmbeddingProvider

# Raise it when the text that a chunk is embedded by changes.
TEXT_VERSION = 2
_KEY = "embedding"
_NEARLY_ALL = 0.9  # of the chunks that a model can read; who has embedded so many need not be told


@dataclass(frozen=True)
class Space:
    """What made some embeddings: those of two spaces cannot be compared.

    :param digest: of the model's weights; empty where the server does not tell.
    :param provider: who made them; empty in indexes of older programs, which knew Ollama alone.
    """

    model: str
    digest: str
    dimension: int
    document_prefix: str
    version: int = TEXT_VERSION
    provider: str = ""

    @property
    def key(self) -> str:
        """A stable string form, independent of the provider."""
        facts = {name: value for name, value in asdict(self).items() if name != "provider"}
        return json.dumps(facts, sort_keys=True, ensure_ascii=False)

    def is_alike(self, other: Space) -> bool:
        """Return whether embeddings of both can be compared, of models of one name, as far as
        their digests tell."""
        from rag.support.vector_digest import may_be_same

        same = replace(other, model=self.model, digest=self.digest, provider=self.provider)
        return self == same and may_be_same(self.digest, other.digest)

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
    :param rate: chunks a second of the last run that embedded some; 0 when none is known.
    :param runtime: what computed the vectors that it made; empty when not told.
    """

    space: Space = inline()
    chunks: int = 0
    embedded: int = 0
    unreadable: int = 0
    failed: int = 0
    rate: float = hidden(0.0)
    runtime: str = optional("")

    @property
    def lacking(self) -> int:
        """How many have none yet, and may get one."""
        return max(0, self.chunks - self.embedded - self.unreadable - self.failed)

    @property
    def readable(self) -> int:
        """How many chunks the model can read."""
        return self.chunks - self.unreadable

    @property
    def share(self) -> float:
        """The share of those that have an embedding; 0 where there are none."""
        return min(1.0, self.embedded / self.readable) if self.readable > 0 else 0.0

    @property
    def is_partial(self) -> bool:
        """Whether so many have none that it shows."""
        return self.share < _NEARLY_ALL


def read_embedded(manifest: Manifest | None) -> Embedded | None:
    """Return what a manifest says of the embeddings; `None` when there are none."""
    facts = json.loads((manifest and manifest.get(_KEY)) or "{}")
    if not facts:
        return None
    of_space = {item.name: facts.pop(item.name) for item in fields(Space) if item.name in facts}
    return Embedded(Space(**of_space), **facts)


def maker(embedded: Embedded | None) -> str:
    """Return which provider made the embeddings of an index; empty where it has none."""
    return (embedded.space.provider or "ollama") if embedded and embedded.embedded else ""


def record_embedded(manifest: Manifest, embedded: Embedded) -> None:
    """Write down what the index holds."""
    facts = asdict(embedded)
    manifest.set(**{_KEY: json.dumps(facts.pop("space") | facts, ensure_ascii=False)})


def may_lack_embeddings(
    manifest: Manifest, provider: EmbeddingProvider, reembed: bool = False
) -> bool:
    """Return, without reading the store or a server, whether there may be anything to embed."""
    embedded = read_embedded(manifest)
    return bool(
        reembed
        or embedded is None
        or manifest.get(UNEMBEDDED)
        or embedded.space.version != TEXT_VERSION
        # The second look is slow to import; most names are spelt as they were.
        or (embedded.space.model != provider.model and not embedded.space.is_configured(provider))
    )


def other_model(space: Space, provider: EmbeddingProvider) -> IndexUnavailableError:
    """Say that the index's embeddings cannot be used, and what to do."""
    same = provider.is_model(space.model)
    made = f"another version of {space.model}, or with another prefix" if same else f"{space.model}"
    wanted = "" if same else f", not {provider.model}"
    return IndexUnavailableError(
        f"the index's embeddings were made by {made}{wanted}", hint=EMBED_ANEW
    )
