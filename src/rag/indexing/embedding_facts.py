"""What is known of the embeddings of an index while they are made: by what, and how many."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rag.clients.protocols import EmbeddingProvider
from rag.index.embedding_space import (
    Space,
    other_model,
    read_embedded,
    record_embedded,
)
from rag.index.manifest import UNEMBEDDED
from rag.support.json_reports import hidden

if TYPE_CHECKING:
    from rag.indexing.index_writer import IndexWriter


@dataclass
class EmbeddingReport:
    """What embedding did.

    :param made: how many vectors a model made.
    :param reused: how many were known, from an earlier run or from another chunk of this text.
    :param unreadable: how many were left out since the model does not read their script.
    :param failed: what is wrong with those that have none, by `vault/path:line`.
    :param is_complete: whether it came to all chunks.
    :param left: how many are left to the next run, since time was up.
    :param rate: how many a model made in a second.
    :param runtime: what computed the vectors; empty when not told.
    """

    made: int = 0
    reused: int = 0
    unreadable: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    is_complete: bool = hidden(False)
    left: int = 0
    rate: float = hidden(0.0)
    runtime: str = hidden("")


def find_space(embeddings: EmbeddingProvider, provider: str = "") -> tuple[Space, int]:
    """Return what the model's embeddings are, and the most tokens that it reads.

    :param provider: the name of who makes them.
    :raises ModelMissingError: when no server has the model.
    :raises ConnectionError: when none answers.
    """
    made = embeddings.identity(whole=True)
    space = Space(made.model, made.digest, made.dimension, made.document_prefix, provider=provider)
    return space, made.limit


def agreed_space(
    writer: IndexWriter, embeddings: EmbeddingProvider, provider: str, reembed: bool
) -> tuple[Space, int]:
    """Return the space of what will be made, and the most tokens that the model reads.

    :raises IndexUnavailableError: when it is another than that of the index, which must stay.
    """
    embedded = read_embedded(writer.manifest)
    is_ours = embedded is not None and embedded.space.is_configured(embeddings)
    must_stay = embedded is not None and embedded.embedded > 0 and not reembed
    if embedded and must_stay and not is_ours:
        raise other_model(embedded.space, embeddings)
    space, limit = find_space(embeddings, provider)
    if embedded and is_ours and embedded.space.is_alike(space):
        space = embedded.space  # the same, spelt otherwise, or told by other digits
    if embedded and must_stay and embedded.space != space:
        raise other_model(embedded.space, embeddings)
    return space, limit


def record_done(writer: IndexWriter, report: EmbeddingReport) -> None:
    """Write down what was done; readers get to see it if it is news to them.

    What a killed run did is news too, though this one made nothing.
    """
    before = read_embedded(writer.manifest)
    assert before
    runtimes = dict.fromkeys(filter(None, (*before.runtime.split(", "), report.runtime)))
    now = replace(
        before,
        chunks=writer.store.count_documents(),
        embedded=writer.store.count_embedded(),
        unreadable=max(report.unreadable, 0 if report.is_complete else before.unreadable),
        failed=len(report.failed),
        rate=round(report.rate, 2) or before.rate,
        runtime=", ".join(runtimes),
    )
    writer.manifest.set(**{UNEMBEDDED: "yes" if now.lacking or now.failed else ""})
    if report.made or report.reused or now != before:
        record_embedded(writer.manifest, now)
        writer.manifest.raise_revision()
