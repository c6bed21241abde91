"""Notes related to a note."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from rag.app.index_state import IndexState, check_vaults
from rag.app.notes.names import find_named
from rag.app.related.names import shared_names
from rag.app.related.nearness import Nearness, near_in_meaning
from rag.app.related.passages import RepeatedLines, sentences_of
from rag.app.related.shared_words import SharedWords
from rag.app.related.words import Weighty, near_in_words, passages_with, weightiest_words
from rag.exceptions import EMBED_REST
from rag.index.background import read_background
from rag.index.embedding_space import read_embedded
from rag.index.lookup import FoundNote
from rag.index.note_rows import NoteRow
from rag.search.components.note_ranker import first_chunks
from rag.search.filters import all_of, none_of, one_of
from rag.search.understanding.query_understanding import understand
from rag.text.matches import weigh_terms
from rag.text.messages import brief
from rag.vault.suffixes import MARKDOWN

if TYPE_CHECKING:
    from haystack import Document

    from rag.app.requests import RelatedRequest
    from rag.app.snapshot import Snapshot
    from rag.index.links.matching import NamedNote
    from rag.index.links.tables import LinkTables
    from rag.index.manifest import Manifest
    from rag.search.filters import Filter
    from rag.stores.base.document_store import BaseDocumentStore

MEANING, WORDS = "meaning", "words"
_CLEAR = 0.5  # the score from which a note is clearly related
_SUREST = 4.6  # odds of a score of .99
_PASSAGES = 2  # of a note, that are given
_NEAREST, _TITLE = 3, 60  # notes that are named where none is clearly related; characters of each
# Chunks of a note, and others with the most words of each, that tell which lines are repeated.
_CHUNKS, _ALIKE = 12, 10
_LIKELY = 20  # notes with the most words of one, that are compared in meaning too
_OF_A_KIND = 3  # notes of a folder with passages under one heading, that stand before all others


class _Weights(NamedTuple):
    """Weights of the logarithm of the odds that a note is related: fitted, see docs/ranking.md."""

    constant: float
    words: float
    meaning: float = 0.0
    names: float = 4.0


_WEIGHTS = {MEANING: _Weights(-3.0, 14.0, 45.0), WORDS: _Weights(-3.2, 20.0)}


@dataclass(frozen=True)
class Reasons:
    """Why a note is related to another.

    :param words: weighty words that both have.
    :param likeness: how near in meaning their nearest sentences are; 0 where that is not known.
    :param tags: what both are tagged.
    :param names: of people, places and notes in the front matter of one that lead to the other.
    :param linked_by: vault and path of the notes that link to both.
    """

    words: list[str]
    likeness: float
    tags: list[str]
    names: list[str]
    linked_by: list[str]


@dataclass(frozen=True)
class Passage:
    """A sentence or two of a note that tell why it is related: `line` is the number in its file
    where they begin."""

    line: int
    text: str
    score: float


@dataclass(frozen=True)
class RelatedNote:
    """A related note.

    :param score: the probability that it is.
    :param passages: the best of it, the best first.
    :param link: a wiki link that leads to it from the note it is related to.
    :param linked: whether one of the two links to the other.
    :param heading: the headings above its best passage, without its title.
    """

    note: FoundNote
    score: float
    passages: list[Passage]
    reasons: Reasons
    link: str
    linked: bool
    heading: list[str]


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


class _Ranked(NamedTuple):
    """A note that was found: its id, its score, what tells of it, and the chunks that do, the best
    first."""

    id: str
    score: float
    near: Nearness | None
    names: Mapping[str, float]
    chunks: Sequence[str]


def related(snapshot: Snapshot, request: RelatedRequest) -> RelatedReport:
    """Find notes related to one: by its sentences where they have embeddings, by its weightiest
    words, and by the names in its front matter. What repeats in many notes counts next to nothing.

    :raises NotFoundError: when no note is called so, or several are; it suggests.
    :raises UsageError: for a vault that is not in the index.
    :raises IndexUnavailableError: when there is no index.
    """
    started = time.monotonic()
    store = snapshot.store
    with snapshot.manifest() as manifest:
        note = find_named(manifest, request.note, folder=request.folder).note
        check_vaults(request.filters.vaults if request.filters else None, manifest.vaults())
        linked = _linked(manifest.links, note.row)
        asked = understand(store, "", request.filters, True)
        hidden = [note.row.id, *(() if request.include_linked else linked)]
        conditions = [asked.filters, none_of(one_of("file_id", hidden))]
        if not request.all_vaults and not (request.filters and request.filters.vaults):
            conditions.append(one_of("vault", [note.row.vault]))
        filters = all_of(conditions)
        chunks = store.get_documents([key.id for key in note.row.chunks])
        repeated = _repeated_lines(store, chunks, filters)
        words = weightiest_words(store, chunks, repeated)
        by, ranked = _rank(store, manifest, note.row, chunks, words, filters, request)
        describer = _Describer(store, manifest, note.row, chunks, words, repeated, linked)
        least = _CLEAR if request.min_score is None else request.min_score
        clear = [one for one in ranked if one.score >= least]
        shown = describer.describe(clear[: 2 * request.limit])
        notices = list(asked.notices)
        if ranked and not clear:
            notices.append(_unclear(describer.titles(ranked[:_NEAREST])))
        notices += filter(None, [_partly(manifest) if by == MEANING else ""])
    elapsed = round((time.monotonic() - started) * 1000)
    results = _spread(shown)[: request.limit]
    left_out = 0 if request.include_linked else len(linked)
    return RelatedReport(note, by, results, left_out, notices, snapshot.state, elapsed)


def _repeated_lines(
    store: BaseDocumentStore, chunks: Sequence[Document], filters: Filter | None
) -> RepeatedLines:
    """Return the lines of a note that others repeat, as the chunks with most words of each of its
    own tell."""
    asked = chunks[:: math.ceil(len(chunks) / _CHUNKS)] if chunks else ()
    queries = [weightiest_words(store, [chunk], RepeatedLines([])).query for chunk in asked]
    lists = store.find_lists([(query, _ALIKE) for query in queries], filters)
    alike = {one.id for found in lists for one in found}
    return RepeatedLines([*chunks, *store.get_documents(sorted(alike))])


def _rank(
    store: BaseDocumentStore,
    manifest: Manifest,
    note: NoteRow,
    chunks: Sequence[Document],
    words: Weighty,
    filters: Filter | None,
    request: RelatedRequest,
) -> tuple[str, list[_Ranked]]:
    """Return what told, meaning or words, and the notes that pass filters, the likeliest first."""
    by_words = near_in_words(store, words, [chunk.id for chunk in chunks], filters)
    names = shared_names(manifest, note)
    named = first_chunks(store, filters, sorted(names)) if names else []
    best = sorted(by_words, key=lambda one: (-by_words[one].share, one))[:_LIKELY]
    likely = {chunk: one for one in best for chunk in by_words[one].chunks[:_PASSAGES]}
    likely |= {one.id: one.note for one in named}
    background = read_background(manifest)
    near = near_in_meaning(store, background, chunks, filters, likely, request.limit)
    by = WORDS if near is None else MEANING
    weights, near = _WEIGHTS[by], near or {}
    ranked = []
    for one in {*by_words, *near, *(candidate.note for candidate in named)}:
        mass, nearness, shared = by_words.get(one), near.get(one), names.get(one, {})
        odds = weights.constant + weights.names * sum(shared.values())
        odds += weights.words * (mass.share if mass else 0.0)
        odds += weights.meaning * (nearness.score if nearness else 0.0)
        odds = min(odds, _SUREST)
        held = [chunk for chunk, *_ in nearness.nearest] if nearness else []
        held += mass.chunks if mass else []
        held += [candidate.id for candidate in named if candidate.note == one]
        ranked.append(_Ranked(one, 1 / (1 + math.exp(-odds)), nearness, shared, held))
    return by, sorted(ranked, key=lambda one: (-one.score, one.id))


def _unclear(titles: Sequence[str]) -> str:
    """Say that nothing is clearly related, and what is nearest."""
    near = ", ".join(brief(title, _TITLE) for title in titles)
    said = f"nothing is clearly related; nearest: {near}"
    return f"{said} (--min-score 0 shows them)"


def _spread(results: Sequence[RelatedNote]) -> list[RelatedNote]:
    """Return results so that notes of one folder that a template made, whose best passages stand
    under one heading, are no more than a few before all others."""
    counts: Counter[tuple[str, ...]] = Counter()
    first: list[RelatedNote] = []
    rest: list[RelatedNote] = []
    for one in results:
        row = one.note.row
        kind = (row.vault, str(PurePosixPath(row.path).parent), *one.heading)
        counts[kind] += bool(one.heading)
        (first if counts[kind] <= _OF_A_KIND else rest).append(one)
    return first + rest


def _partly(manifest: Manifest) -> str:
    """Say of an index with few embeddings that notes without are not compared."""
    embedded = read_embedded(manifest)
    if embedded is None or not embedded.is_partial:
        return ""
    return (
        f"{embedded.embedded:,} of {embedded.readable:,} chunks have embeddings: notes without any"
        " are compared by words alone"
        f" {EMBED_REST}"
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

    :param note: that to which they are related, with its chunks, weightiest words and the lines
        that others repeat.
    :param linked: the ids of the notes that are linked with it.
    """

    def __init__(
        self,
        store: BaseDocumentStore,
        manifest: Manifest,
        note: NoteRow,
        chunks: Sequence[Document],
        words: Weighty,
        repeated: RepeatedLines,
        linked: set[str],
    ) -> None:
        self._store, self._manifest, self._links = store, manifest, manifest.links
        self._roots = manifest.vaults()
        self._note, self._chunks, self._words, self._linked = note, chunks, words, linked
        self._repeated = repeated
        self._linking = {link.source.id for link in self._links.links_to(note)}
        self._weights = weigh_terms(words.text, store.counts.rarity)
        self._shared = SharedWords(words, store.counts.rarity, chunks)

    def titles(self, ranked: Sequence[_Ranked]) -> list[str]:
        """Return the titles of notes."""
        rows = self._rows(ranked)
        return [rows[one.id].title for one in ranked if one.id in rows]

    def describe(self, ranked: Sequence[_Ranked]) -> list[RelatedNote]:
        """Return the notes that were found, but those of which a template is all that tells."""
        rows = self._rows(ranked)
        wanted = {chunk for one in ranked for chunk in one.chunks}
        chunks = {chunk.id: chunk for chunk in self._store.get_documents(sorted(wanted))}
        notes = [self._describe(one, rows[one.id], chunks) for one in ranked if one.id in rows]
        return [one for one in notes if one.passages or one.reasons.names]

    def _rows(self, ranked: Sequence[_Ranked]) -> dict[str, NoteRow]:
        marks = ", ".join("?" * len(ranked))
        ids = [one.id for one in ranked]
        return {row.id: row for row in self._manifest.notes(f"id IN ({marks})", *ids)}

    def _describe(self, one: _Ranked, row: NoteRow, known: dict[str, Document]) -> RelatedNote:
        chunks = [known[chunk] for chunk in one.chunks if chunk in known]
        passages = self._near_passages(one.near, known) if one.near else []
        if not passages:
            passages = [
                Passage(*passage)
                for passage in passages_with(
                    self._words, self._weights, chunks[:_PASSAGES], self._repeated
                )
            ]
        heading = [part for part in chunks[0].meta.get("heading") or () if part != row.title]
        reasons = Reasons(
            self._shared.among(chunks[:_PASSAGES]),
            one.near.likeness if one.near else 0.0,
            _shared_tags(self._note, row),
            sorted(one.names),
            self._linked_by(row),
        )
        found = FoundNote(row, Path(self._roots[row.vault]))
        link, linked = self._link_to(row), one.id in self._linked
        return RelatedNote(found, one.score, passages[:_PASSAGES], reasons, link, linked, heading)

    def _near_passages(self, near: Nearness, known: dict[str, Document]) -> list[Passage]:
        """Return the sentences of a note that are nearest in meaning; one that both have tells
        little, and comes last."""
        held = {chunk: sentences_of(known[chunk]) for chunk, *_ in near.nearest if chunk in known}
        passages = [
            Passage(*held[chunk][min(at, len(held[chunk]) - 1)][:2], score)
            for chunk, at, score in near.nearest
            if chunk in held
        ]
        return sorted(passages, key=lambda passage: passage.text in self._sentences)

    @cached_property
    def _sentences(self) -> set[str]:
        """Those of the note itself."""
        return {one.text for chunk in self._chunks for one in sentences_of(chunk)}

    def _linked_by(self, row: NoteRow) -> list[str]:
        """Return vault and path of the notes that link to both."""
        if not self._linking:
            return []
        both = {link.source for link in self._links.links_to(row, self._linking)}
        return sorted(f"{source.vault}/{source.path}" for source in both)

    def _link_to(self, row: NoteRow) -> str:
        """Return the shortest wiki link that leads to a note; its suffix is left out in Markdown
        alone."""
        path = PurePosixPath(row.path)
        names = [path.name, row.path]
        if path.suffix.lower() in MARKDOWN:
            names = [path.stem, path.name, str(path.with_suffix("")), row.path]
        for name in names:
            found = self._links.resolve(name, self._note.vault, self._note.path)
            if [note.id for note in found] == [row.id]:
                return f"[[{name}]]"
        return f"[[{row.vault}/{row.path}]]"


def _shared_tags(one: NoteRow, other: NoteRow) -> list[str]:
    """Return the tags that two notes share, without the parents of nested ones."""
    shared = [tag for tag in one.tags if tag in other.tags]
    return [tag for tag in shared if not any(more.startswith(f"{tag}/") for more in shared)]
