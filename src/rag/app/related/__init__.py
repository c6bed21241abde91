"""Notes related to a note."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from rag.app.index_state import IndexState, check_vaults
from rag.app.notes.names import NoteRef, find_named
from rag.app.related.meaning import Nearness, near_in_meaning, sentences_of
from rag.app.related.words import (
    WordEvidence,
    near_in_words,
    repeated_lines,
    shared_names,
    weightiest_words,
)
from rag.exceptions import EMBED_REST
from rag.index.background import read_background
from rag.index.embedding_space import read_embedded
from rag.index.lookup import FoundNote
from rag.search.components.note_ranker import first_chunks
from rag.search.filters import all_of, none_of, one_of
from rag.search.understanding.query_understanding import understand
from rag.text.messages import brief
from rag.vault.suffixes import MARKDOWN

if TYPE_CHECKING:
    from haystack import Document

    from rag.app.requests import RelatedRequest
    from rag.app.workspace import Workspace
    from rag.index.manifest import Manifest
    from rag.index.note_rows import NoteRow
    from rag.stores.base.document_store import BaseDocumentStore

MEANING, WORDS = "meaning", "words"
_CLEAR = 0.5  # the score from which a note is clearly related
_SUREST = 4.6  # odds of a score of .99
_PASSAGES = 2  # of a note, that are given
_NEAREST, _TITLE = 3, 60  # notes that are named where none is clearly related; characters of each
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
class Passage:
    """A sentence or two of a note that tell why it is related: `line` is the number in its file
    where they begin."""

    line: int
    text: str
    score: float


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
class RelatedNote:
    """A related note.

    :param score: the probability that it is.
    :param link: a wiki link that leads to it from the note it is related to.
    :param linked: whether one of the two links to the other.
    :param passages: the best of it, the best first.
    """

    rank: int
    score: float
    id: str
    vault: str
    path: str
    file: str
    title: str
    tags: list[str]
    created: str
    link: str
    linked: bool
    passages: list[Passage]
    reasons: Reasons


@dataclass(frozen=True)
class RelatedReport:
    """The notes related to one, the best first, in the names of schema 1.

    :param by: what told: `meaning` or `words`.
    :param left_out: how many notes are left out because they are linked.
    :param elapsed_ms: from the request to the report.
    """

    note: NoteRef
    by: str
    notices: list[str]
    results: list[RelatedNote]
    total: int
    left_out: int
    elapsed_ms: int
    index: IndexState


class _Candidate(NamedTuple):
    """A note that may be related: its id, its score, what tells of it, and the chunks that do, the
    best first."""

    id: str
    score: float
    near: Nearness | None
    names: Mapping[str, float]
    chunks: Sequence[str]


def related(snapshot: Workspace, request: RelatedRequest) -> RelatedReport:
    """Find notes related to one: by its sentences where they have embeddings, by its weightiest
    words, and by the names in its front matter. What repeats in many notes counts next to nothing.

    :raises NotFoundError: when no note is called so, or several are; it suggests.
    :raises UsageError: for a vault that is not in the index.
    :raises IndexUnavailableError: when there is no index.
    """
    started = time.monotonic()
    with snapshot.manifest() as manifest:
        row = find_named(manifest, request.note, folder=request.folder).note.row
        check_vaults(request.filters.vaults if request.filters else None, manifest.vaults())
        note = _Note(snapshot.store, manifest, row, request)
        by, candidates = note.candidates()
        least = _CLEAR if request.min_score is None else request.min_score
        clear = [one for one in candidates if one.score >= least]
        results = note.describe(clear[: 2 * request.top_k])
        notices = list(note.notices)
        if candidates and not clear:
            near = ", ".join(brief(title, _TITLE) for title in note.titles(candidates[:_NEAREST]))
            notices.append(
                f"nothing is clearly related; nearest: {near} (--min-score 0 shows them)"
            )
        if by == MEANING:
            notices += _few_embeddings(manifest)
    return RelatedReport(
        NoteRef(row.id, row.vault, row.path, row.title),
        by,
        notices,
        results,
        len(results),
        0 if request.include_linked else len(note.linked),
        round((time.monotonic() - started) * 1000),
        snapshot.state,
    )


def _few_embeddings(manifest: Manifest) -> Iterator[str]:
    """Yield that notes without embeddings are compared by words alone, where there are some."""
    embedded = read_embedded(manifest)
    if embedded and embedded.is_partial:
        yield (
            f"{embedded.embedded:,} of {embedded.readable:,} chunks have embeddings: notes without"
            f" any are compared by words alone {EMBED_REST}"
        )


class _Note:
    """A note to which others are related.

    `linked` are the ids of the notes that link to it or that it links to.
    """

    def __init__(
        self, store: BaseDocumentStore, manifest: Manifest, row: NoteRow, request: RelatedRequest
    ) -> None:
        self._store, self._manifest, self._links = store, manifest, manifest.links
        self._row, self._limit = row, request.top_k
        self._linking = {link.source.id for link in self._links.links_to(row)}
        targets = self._links.links_from(row.vault, row.path)
        self.linked = self._linking | {link.notes[0].id for link in targets if link.is_clear}
        self.linked -= {row.id}
        understood = understand(store, "", request.filters, True)
        self.notices = understood.notices
        hidden = [row.id, *(() if request.include_linked else self.linked)]
        conditions = [understood.filters, none_of(one_of("file_id", hidden))]
        if not request.all_vaults and not (request.filters and request.filters.vaults):
            conditions.append(one_of("vault", [row.vault]))
        self._filters = all_of(conditions)
        self._chunks = store.get_documents([key.id for key in row.chunks])
        repeated, self._alike = repeated_lines(store, self._chunks, self._filters)
        self._words = weightiest_words(store, self._chunks, repeated)
        self._evidence = WordEvidence(store, self._words, self._chunks, repeated)

    def candidates(self) -> tuple[str, list[_Candidate]]:
        """Return what tells, meaning or words, and the notes that pass the filters, the likeliest
        first."""
        own = [chunk.id for chunk in self._chunks]
        by_words = near_in_words(self._store, self._words, own, self._filters)
        names = shared_names(self._manifest, self._row)
        named = first_chunks(self._store, self._filters, sorted(names)) if names else []
        best = sorted(by_words, key=lambda one: (-by_words[one].share, one))[:_LIKELY]
        likely = {chunk: one for one in best for chunk in by_words[one].chunks[:_PASSAGES]}
        likely |= {hit.id: hit.note for hit in named}
        background = read_background(self._manifest)
        near = near_in_meaning(
            *(self._store, background, self._chunks, self._filters, likely, self._alike),
            self._limit,
        )
        by = WORDS if near is None else MEANING
        weights, near = _WEIGHTS[by], near or {}
        candidates = []
        for one in {*by_words, *near, *(hit.note for hit in named)}:
            shared, nearness, tells = by_words.get(one), near.get(one), names.get(one, {})
            odds = weights.constant + weights.names * sum(tells.values())
            odds += weights.words * (shared.share if shared else 0.0)
            odds += weights.meaning * (nearness.score if nearness else 0.0)
            chunks = [chunk for chunk, *_ in nearness.nearest] if nearness else []
            chunks += shared.chunks if shared else []
            chunks += [hit.id for hit in named if hit.note == one]
            score = round(1 / (1 + math.exp(-min(odds, _SUREST))), 6)
            candidates.append(_Candidate(one, score, nearness, tells, chunks))
        return by, sorted(candidates, key=lambda one: (-one.score, one.id))

    def titles(self, candidates: Sequence[_Candidate]) -> list[str]:
        """Return the titles of notes."""
        rows = self._rows(candidates)
        return [rows[one.id].title for one in candidates if one.id in rows]

    def describe(self, candidates: Sequence[_Candidate]) -> list[RelatedNote]:
        """Return the best notes, but those of which a template is all that tells.

        Notes of one folder that a template made, whose best passages stand under one heading, are
        no more than a few before all others.
        """
        rows = self._rows(candidates)
        wanted = {chunk for one in candidates for chunk in one.chunks}
        documents = {chunk.id: chunk for chunk in self._store.get_documents(sorted(wanted))}
        counts: Counter[tuple[str, ...]] = Counter()
        first: list[tuple[_Candidate, list[Passage], list[Document]]] = []
        rest: list[tuple[_Candidate, list[Passage], list[Document]]] = []
        for one in candidates:
            if one.id not in rows or len(first) == self._limit:
                continue
            row = rows[one.id]
            chunks = [documents[chunk] for chunk in one.chunks if chunk in documents]
            passages = self._passages(one.near, chunks, documents)
            if not passages and not one.names:
                continue
            heading = [part for part in chunks[0].meta.get("heading") or () if part != row.title]
            kind = (row.vault, str(PurePosixPath(row.path).parent), *heading)
            counts[kind] += bool(heading)
            (first if counts[kind] <= _OF_A_KIND else rest).append((one, passages, chunks))
        return [
            self._describe(rank, rows[one.id], one, passages, chunks[:_PASSAGES])
            for rank, (one, passages, chunks) in enumerate((first + rest)[: self._limit], 1)
        ]

    def _rows(self, candidates: Sequence[_Candidate]) -> dict[str, NoteRow]:
        marks = ", ".join("?" * len(candidates))
        ids = [one.id for one in candidates]
        return {row.id: row for row in self._manifest.notes(f"id IN ({marks})", *ids)}

    def _passages(
        self, near: Nearness | None, chunks: Sequence[Document], documents: Mapping[str, Document]
    ) -> list[Passage]:
        """Return the best sentences of a note: the nearest in meaning, of which one that both notes
        have tells little and comes last, or else those with most of the words."""
        new: list[Passage] = []
        common: list[Passage] = []
        for chunk, at, score in near.nearest if near else ():
            if len(new) < _PASSAGES and chunk in documents:
                sentences = sentences_of(documents[chunk])
                number, text, _ = sentences[min(at, len(sentences) - 1)]
                passages = common if text in self._sentences else new
                passages.append(Passage(number, text, round(score, 6)))
        if not new and not common:
            found = self._evidence.passages(chunks[:_PASSAGES])
            new = [Passage(number, text, round(score, 6)) for number, text, score in found]
        return (new + common)[:_PASSAGES]

    @cached_property
    def _sentences(self) -> set[str]:
        """Those of the note itself."""
        return {one.text for chunk in self._chunks for one in sentences_of(chunk)}

    def _describe(
        self,
        rank: int,
        row: NoteRow,
        candidate: _Candidate,
        passages: list[Passage],
        chunks: Sequence[Document],
    ) -> RelatedNote:
        tags = [tag for tag in self._row.tags if tag in row.tags]
        both = self._links.links_to(row, self._linking) if self._linking else ()
        reasons = Reasons(
            self._evidence.reasons(chunks),
            round(candidate.near.likeness, 6) if candidate.near else 0.0,
            # Without the parents of nested ones.
            [tag for tag in tags if not any(more.startswith(f"{tag}/") for more in tags)],
            sorted(candidate.names),
            sorted({f"{link.source.vault}/{link.source.path}" for link in both}),
        )
        return RelatedNote(
            rank,
            candidate.score,
            row.id,
            row.vault,
            row.path,
            str(FoundNote(row, Path(self._manifest.vaults()[row.vault])).file),
            row.title,
            row.tags,
            row.created,
            self._link_to(row),
            row.id in self.linked,
            passages,
            reasons,
        )

    def _link_to(self, row: NoteRow) -> str:
        """Return the shortest wiki link that leads to a note; its suffix is left out in Markdown
        alone."""
        path = PurePosixPath(row.path)
        names = [path.name, row.path]
        if path.suffix.lower() in MARKDOWN:
            names = [path.stem, path.name, str(path.with_suffix("")), row.path]
        for name in names:
            targets = self._links.resolve(name, self._row.vault, self._row.path)
            if [note.id for note in targets] == [row.id]:
                return f"[[{name}]]"
        return f"[[{row.vault}/{row.path}]]"
