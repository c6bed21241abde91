"""Notes related to a note."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rag.app.index_state import IndexState, check_vaults
from rag.app.notes.names import find_named
from rag.app.related.meaning import near_in_meaning
from rag.app.related.ranking import PASSAGES, Passage, Ranked, passages_of
from rag.app.related.shared_words import SharedWords
from rag.app.related.words import Weighty, near_in_words, passages_with, weightiest_words
from rag.exceptions import Message, Remedy
from rag.index.embedding_space import read_embedded
from rag.index.lookup import FoundNote
from rag.index.note_rows import NoteRow
from rag.search.filters import all_of, none_of, one_of
from rag.search.understanding.query_understanding import understand
from rag.text.matches import weigh_terms

if TYPE_CHECKING:
    from haystack import Document

    from rag.app.requests import RelatedRequest
    from rag.app.snapshot import Snapshot
    from rag.index.links.matching import NamedNote
    from rag.index.links.tables import LinkTables
    from rag.index.manifest import Manifest
    from rag.stores.base.document_store import BaseDocumentStore

MEANING, WORDS = "meaning", "words"


@dataclass(frozen=True)
class Reasons:
    """Why a note is related to another.

    :param words: weighty words that both have.
    :param likeness: how near in meaning their nearest sentences are; 0 where that is not known.
    :param tags: what both are tagged.
    :param linked_by: vault and path of the notes that link to both.
    """

    words: list[str]
    likeness: float
    tags: list[str]
    linked_by: list[str]


@dataclass(frozen=True)
class RelatedNote:
    """A related note.

    :param passages: the best of it, the best first.
    :param link: a wiki link that leads to it from the note it is related to.
    :param linked: whether one of the two links to the other.
    """

    note: FoundNote
    score: float
    passages: list[Passage]
    reasons: Reasons
    link: str
    linked: bool


@dataclass(frozen=True)
class RelatedReport:
    """The notes related to one, the best first.

    :param by: what told: `meaning` or `words`.
    :param left_out: how many notes are left out because they are linked.
    :param milliseconds: from the request to the report.
    """

    note: FoundNote
    by: str
    results: list[RelatedNote]
    left_out: int
    notices: list[str]
    index: IndexState
    milliseconds: int


def related(snapshot: Snapshot, request: RelatedRequest) -> RelatedReport:
    """Find notes related to one: by the embeddings of its sentences where it has some, else by its
    weightiest words. What repeats in many notes counts little.

    :raises NotFoundError: when no note is called so, or several are; it suggests.
    :raises UsageError: for a vault that is not in the index.
    :raises IndexUnavailableError: when there is no index.
    """
    started = time.monotonic()
    store = snapshot.store
    with snapshot.manifest() as manifest:
        note = find_named(manifest, request.note, folder=request.folder).note
        check_vaults(request.filters.vaults if request.filters else None, manifest.vaults())
        links = manifest.links
        linked = _linked(links, note.row)
        asked = understand(store, "", request.filters, True)
        hidden = [note.row.id, *(() if request.include_linked else linked)]
        filters = all_of([asked.filters, none_of(one_of("file_id", hidden))])
        ids = [key.id for key in note.row.chunks]
        chunks = store.get_documents(ids)
        words = weightiest_words(store, chunks)
        by, ranked = MEANING, near_in_meaning(store, chunks, filters, request.limit)
        if ranked is None:
            by, ranked = WORDS, near_in_words(store, words, ids, filters)
        ranked = [one for one in ranked if one.score >= request.min_score][: request.limit]
        results = _Describer(store, manifest, note.row, chunks, words, linked).describe(ranked)
        notices = [*asked.notices, *filter(None, [_partly(manifest) if by == MEANING else ""])]
    left_out = 0 if request.include_linked else len(linked)
    elapsed = round((time.monotonic() - started) * 1000)
    return RelatedReport(note, by, results, left_out, notices, snapshot.state, elapsed)


def _partly(manifest: Manifest) -> str:
    """Say of an index with few embeddings that notes without are not compared."""
    embedded = read_embedded(manifest)
    if embedded is None or not embedded.is_partial:
        return ""
    return Message(
        f"{embedded.embedded:,} of {embedded.readable:,} chunks have embeddings: notes without any"
        " are not compared",
        remedy=Remedy.EMBED_REST,
        joint=" ",
    )


def _linked(links: LinkTables, note: NoteRow) -> set[str]:
    """Return the ids of the notes that a note links to, or that link to it."""
    into = {link.source.id for link in links.links_to(note)}
    return (_targets(links, note) | into) - {note.id}


def _targets(links: LinkTables, note: NamedNote | NoteRow) -> set[str]:
    """Return the ids of the notes that a note links to."""
    found = links.links_from(note.vault, note.path)
    return {link.notes[0].id for link in found if link.is_clear}


class _Describer:
    """Says of notes that were found what they are, and why.

    :param note: that to which they are related, with its chunks and weightiest words.
    :param linked: the ids of the notes that are linked with it.
    """

    def __init__(
        self,
        store: BaseDocumentStore,
        manifest: Manifest,
        note: NoteRow,
        chunks: Sequence[Document],
        words: Weighty,
        linked: set[str],
    ) -> None:
        self._store, self._manifest, self._links = store, manifest, manifest.links
        self._roots = manifest.vaults()
        self._note, self._chunks, self._words, self._linked = note, chunks, words, linked
        self._linking = {link.source.id for link in self._links.links_to(note)}
        self._weights = weigh_terms(words.text, store.counts.rarity)
        self._shared = SharedWords(words, store.counts.rarity, chunks)

    def describe(self, ranked: Sequence[Ranked]) -> list[RelatedNote]:
        """Return the notes that were found, as far as the manifest has them."""
        marks = ", ".join("?" * len(ranked))
        ids = [one.id for one in ranked]
        rows = {row.id: row for row in self._manifest.notes(f"id IN ({marks})", *ids)}
        wanted = {c for one in ranked for c in (*one.chunks[:PASSAGES], *_chunks(one))}
        chunks = {chunk.id: chunk for chunk in self._store.get_documents(sorted(wanted))}
        return [self._describe(one, rows[one.id], chunks) for one in ranked if one.id in rows]

    def _describe(self, one: Ranked, row: NoteRow, known: dict[str, Document]) -> RelatedNote:
        chunks = [known[chunk] for chunk in one.chunks[:PASSAGES] if chunk in known]
        if one.nearest:
            passages = _nearest_passages(one, known, self._sentences)
        else:
            passages = passages_with(self._words, self._weights, chunks)
        reasons = Reasons(
            self._shared.among(chunks),
            one.likeness,
            _shared_tags(self._note, row),
            self._linked_by(row),
        )
        is_linked = one.id in self._linked
        found = FoundNote(row, Path(self._roots[row.vault]))
        return RelatedNote(found, one.score, passages, reasons, self._link_to(row), is_linked)

    @cached_property
    def _sentences(self) -> set[str]:
        """Those of the note itself."""
        return {text for chunk in self._chunks for _, text in passages_of(chunk)}

    def _linked_by(self, row: NoteRow) -> list[str]:
        """Return vault and path of the notes that link to both."""
        if not self._linking:
            return []
        both = {link.source for link in self._links.links_to(row, self._linking)}
        return sorted(f"{source.vault}/{source.path}" for source in both)

    def _link_to(self, row: NoteRow) -> str:
        """Return the shortest wiki link that leads to a note."""
        path = PurePosixPath(row.path)
        names = (path.stem, path.name, str(path.with_suffix("")), row.path)
        for name in names:
            found = self._links.resolve(name, self._note.vault, self._note.path)
            if [note.id for note in found] == [row.id]:
                return f"[[{name}]]"
        return f"[[{row.vault}/{row.path}]]"


def _chunks(one: Ranked) -> Iterator[str]:
    """Yield the chunks of a note's nearest sentences."""
    return (chunk for chunk, *_ in one.nearest)


def _nearest_passages(one: Ranked, known: dict[str, Document], own: set[str]) -> list[Passage]:
    """Return the sentences of a note that are nearest in meaning.

    :param own: the sentences of the other note; one that both have tells little, and comes last.
    """
    chunks = {chunk for chunk in _chunks(one) if chunk in known}
    passages = {chunk: [*passages_of(known[chunk])] for chunk in chunks}
    found = [
        Passage(*passages[chunk][min(at, len(passages[chunk]) - 1)], score)
        for chunk, at, score in one.nearest
        if chunk in passages
    ]
    found.sort(key=lambda passage: passage.text in own)
    return found[:PASSAGES]


def _shared_tags(one: NoteRow, other: NoteRow) -> list[str]:
    """Return the tags that two notes share, without the parents of nested ones."""
    shared = [tag for tag in one.tags if tag in other.tags]
    return [tag for tag in shared if not any(more.startswith(f"{tag}/") for more in shared)]
