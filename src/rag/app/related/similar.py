"""Notes that lie near a note in meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.app.notes.names import find_named
from rag.app.related.words import repeated_lines
from rag.config.sections import NO_PROVIDER
from rag.exceptions import LIST_SETTINGS, RUN_INDEX, ConfigError, IndexUnavailableError, UsageError
from rag.index.background import read_background
from rag.index.embedding_space import of_an_older_program
from rag.search.components.note_ranker import ChunkRetriever, DocumentLoader, NoteRanker
from rag.search.embedding_choice import embedded_in
from rag.search.filter_listing import CHUNKS_PER_NOTE
from rag.search.filters import all_of, none_of, one_of
from rag.search.matching_line import point_at_matches
from rag.search.modes import SearchMode
from rag.search.relevance import excess_of
from rag.search.results import SearchResponse
from rag.search.run import to_results
from rag.search.understanding.query_understanding import understand
from rag.stores.base.scored_chunk import cosines_of

if TYPE_CHECKING:
    from rag.app.requests import SearchRequest
    from rag.app.workspace import Workspace
    from rag.config import RAGConfig
    from rag.index.note_rows import NoteRow
    from rag.search.filters import Filter
    from rag.stores.base.document_store import BaseDocumentStore

_LEAST = 100  # chunks that are ranked


def similar_notes(snapshot: Workspace, name: str, request: SearchRequest) -> SearchResponse:
    """Return the notes whose chunks are nearest to the mean direction of a note's, of which lines
    that many notes repeat count nothing; no model is asked.

    :param name: of the note.
    :raises NotFoundError: when no note is called so.
    :raises UsageError: when the name is empty, when words are sought besides, or when the mode or
        the settings rule out meaning.
    :raises IndexUnavailableError: when the note has no embedding.
    """
    _check(name, request, snapshot.config)
    store, top_k = snapshot.store, request.top_k or snapshot.config.search.top_k
    with snapshot.manifest() as manifest:
        note = find_named(manifest, name).note.row
        background = read_background(manifest)
    asked = understand(store, "", request.filters, True)
    filters = all_of([asked.filters, none_of(one_of("file_id", [note.id]))])
    vector = _direction(store, note, filters)
    retrieved = ChunkRetriever(store).run(
        SparseEmbedding([], []),
        filters=filters,
        top_k=max(_LEAST, CHUNKS_PER_NOTE * top_k),
        query_embedding=vector,
        mode=SearchMode.DENSE,
        background=background,
    )
    hits = NoteRanker().run(retrieved["candidates"], chunks=request.chunks)["hits"]
    loaded = DocumentLoader(store).run(hits, top_k)
    documents = loaded["documents"]
    vectors = store.embeddings_of([one.id for one in documents])
    excess = excess_of(store, documents, vectors, vector, background, of_text=True)
    results = to_results(
        asked, documents, loaded["hits"], loaded["duplicates"], excess, by_words=False
    )
    response = SearchResponse(
        query=name, results=results, total=len(results), mode=SearchMode.DENSE
    )
    response.notices += asked.notices
    point_at_matches(store, response, cosines_of(vectors, vector))
    return response


def _check(name: str, request: SearchRequest, config: RAGConfig) -> None:
    """Refuse what does not go with a search for notes like another one.

    :raises UsageError: saying what.
    """
    if not name.strip():
        raise UsageError(
            "the name of the note that others are to be like is empty",
            hint="Name a note by its title or its path.",
        )
    if request.query.strip():
        raise UsageError(
            "a search for notes like another one takes no words",
            hint="Leave out the words; filters go with it.",
        )
    if request.mode == SearchMode.LEXICAL:
        raise UsageError(
            "a search for notes like another one goes by meaning, and mode lexical by words alone",
            hint="Leave out the mode.",
        )
    if config.embedding.provider == NO_PROVIDER:
        raise ConfigError(
            "a search for notes like another one goes by meaning: embedding.provider is none",
            hint=f"Set embedding.provider to another one. {LIST_SETTINGS}",
        )


def _direction(store: BaseDocumentStore, note: NoteRow, filters: Filter | None) -> list[float]:
    """Return the mean of the embeddings of a note's chunks: of each, that of its sentences that
    other notes do not repeat, unless they repeat all of them.

    :raises IndexUnavailableError: when none has one.
    """
    import numpy as np

    embedded = embedded_in(store)
    if embedded and (wrong := of_an_older_program(embedded.space)):
        raise wrong
    vectors = store.embeddings_of([key.id for key in note.chunks]) if embedded else {}
    if not vectors:
        raise IndexUnavailableError(
            f"{note.title!r} has no embedding yet, by which others are like it", hint=RUN_INDEX
        )
    chunks = store.get_documents([*vectors])
    repeated, _ = repeated_lines(store, chunks, filters)
    means = []
    for chunk in chunks:
        rows = np.asarray(vectors[chunk.id], np.float32)
        own = rows[~np.array(repeated.sentences(chunk, len(rows)), bool)]
        if len(own):
            means.append(own.mean(axis=0))
    if not means:
        means = [np.asarray(rows, np.float32).mean(axis=0) for rows in vectors.values()]
    direction: list[float] = np.mean(means, axis=0).tolist()
    return direction
