"""Notes related to a note."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from rag.app.index_state import IndexState, check_vaults
from rag.app.notes import NoteRef, find_named
from rag.app.related.evidence import (
    NearSentence,
    Passage,
    near_in_meaning,
    near_in_words,
    repeated_lines,
    sentences_of,
    shared_names,
    weightiest_words,
    word_passages,
    word_reasons,
)
from rag.app.requests import RelatedRequest
from rag.app.results import copied
from rag.exceptions import EMBED_REST
from rag.index.background import read_background
from rag.index.embedding_space import read_embedded
from rag.index.lookup import FoundNote
from rag.search.components.note_ranker import first_chunks
from rag.search.components.query_analyzer import understand
from rag.search.filters import all_of, none_of, one_of
from rag.text.messages import brief
from rag.vault.markdown import MARKDOWN

if TYPE_CHECKING:
    from haystack import Document

    from rag.app.workspace import Workspace
    from rag.index.manifest import Manifest
    from rag.index.note_rows import NoteRow
    from rag.stores.base.document_store import BaseDocumentStore

MEANING, WORDS = "meaning", "words"
_CLEAR = 0.5  # the score from which a note is clearly related
_SUREST = 4.6  # odds of a score of .99
_PASSAGES = 2  # of a note, that are given
_OFFERED = 6  # sentences near in meaning, from which they are taken
_NEAREST, _TITLE = 3, 60  # notes that are named where none is clearly related; characters of each
_LIKELY = 20  # notes with the most words of one, that are compared in meaning too
# Weights of the logarithm of the odds that a note is related: fitted, see docs/ranking.md.
_NAMES_WEIGHT = 4.0
_WEIGHTS = {
    MEANING: {"constant": -3.0, "lexical": 14.0, "meaning": 45.0, "names": _NAMES_WEIGHT},
    WORDS: {"constant": -3.2, "lexical": 20.0, "meaning": 0.0, "names": _NAMES_WEIGHT},
}


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
    """A note that may be related, with what probability, what front matter shares, the sentences
    that are near in meaning and the chunks that tell of it, the best first."""

    id: str
    score: float
    names: list[str]
    sentences: list[NearSentence]
    chunks: list[str]


def related(snapshot: Workspace, request: RelatedRequest) -> RelatedReport:
    """Find notes related to one: by its sentences where they have embeddings, by its weightiest
    words, and by the names in its front matter. What many notes repeat counts next to nothing."""
    started = time.monotonic()
    with snapshot.manifest() as manifest:
        row = find_named(manifest, request.note, folder=request.folder).note.row
        vaults = request.filters.vaults if request.filters else None
        check_vaults(snapshot.config, vaults, manifest.vaults())
        note = _Note(snapshot.store, manifest, row, request)
        by, candidates = note.candidates()
        least = _CLEAR if request.min_score is None else request.min_score
        clear = [one for one in candidates if one.score >= least]
        results = note.describe(clear[: 2 * request.top_k])
        if candidates and not clear:
            rows = note.rows(candidates[:_NEAREST])
            near = ", ".join(brief(one.title, _TITLE) for one in rows.values())
            note.notices.append(f"nothing is clearly related; nearest: {near}")
    ref, count = NoteRef(row.id, row.vault, row.path, row.title), len(results)
    left_out = 0 if request.include_linked else len(note.linked)
    elapsed = round((time.monotonic() - started) * 1000)
    return RelatedReport(ref, by, note.notices, results, count, left_out, elapsed, snapshot.state)


class _Note:
    """A note to which others are related; `linked` are the ids of those that it is linked with."""

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
        self.notices = list(understood.notices)
        unwanted = [row.id, *(() if request.include_linked else self.linked)]
        conditions = [understood.filters, none_of(one_of("file_id", unwanted))]
        if not request.all_vaults and not (request.filters and request.filters.vaults):
            conditions.append(one_of("vault", [row.vault]))
        self._filters = all_of(conditions)
        self._chunks = store.get_documents([key.id for key in row.chunks])
        self._repeated, self._alike = repeated_lines(store, self._chunks, self._filters)
        self._words = weightiest_words(store, self._chunks, self._repeated)

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
        likely |= {chunk.id: str(chunk.meta["file_id"]) for chunk in self._alike}
        near = None
        if embedded := read_embedded(self._manifest):
            if embedded.is_partial:
                self.notices.append(
                    f"{embedded.embedded:,} of {embedded.readable:,} chunks have embeddings: notes"
                    f" without any are compared by words alone {EMBED_REST}"
                )
            background = read_background(self._manifest)
            near = near_in_meaning(
                *(self._store, background, self._chunks, self._filters, likely, self._repeated),
                self._limit,
            )
        by = WORDS if near is None else MEANING
        weights, near = _WEIGHTS[by], near or {}
        candidates = []
        for one in {*by_words, *near, *(hit.note for hit in named)}:
            shared, tells = by_words.get(one), names.get(one, {})
            sentences = near.get(one, [])[:_OFFERED]
            features = {
                "lexical": shared.share if shared else 0.0,
                "meaning": sentences[0].score if sentences else 0.0,
                "names": sum(tells.values()),
            }
            odds = weights["constant"] + sum(weights[k] * features[k] for k in features)
            score = round(1 / (1 + math.exp(-min(odds, _SUREST))), 6)
            chunks = [sentence.chunk for sentence in sentences] + (shared.chunks if shared else [])
            chunks += [hit.id for hit in named if hit.note == one]
            chunks = [*dict.fromkeys(chunks)]
            candidates.append(_Candidate(one, score, sorted(tells), sentences, chunks))
        return by, sorted(candidates, key=lambda one: (-one.score, one.id))

    def rows(self, candidates: Sequence[_Candidate]) -> dict[str, NoteRow]:
        """Return the rows of notes, by id, in their order."""
        ids = [one.id for one in candidates]
        marks = ", ".join("?" * len(ids))
        rows = {row.id: row for row in self._manifest.notes(f"id IN ({marks})", *ids)}
        return {one: rows[one] for one in ids if one in rows}

    def describe(self, candidates: Sequence[_Candidate]) -> list[RelatedNote]:
        """Return the best notes, but those of which a template is all that tells."""
        rows = self.rows(candidates)
        wanted = {chunk for one in candidates for chunk in one.chunks}
        documents = {chunk.id: chunk for chunk in self._store.get_documents(sorted(wanted))}
        roots = self._manifest.vaults()
        results: list[RelatedNote] = []
        for one in candidates:
            chunks = [documents[chunk] for chunk in one.chunks if chunk in documents][:_PASSAGES]
            passages = self._passages(one, documents)
            passages = passages or word_passages(self._words, chunks, self._repeated)
            row = rows.get(one.id)
            if row is None or not (passages or one.names) or len(results) == self._limit:
                continue
            related_note = copied(
                RelatedNote,
                row,
                rank=len(results) + 1,
                score=one.score,
                file=str(FoundNote(row, Path(roots[row.vault])).file),
                link=self._link_to(row),
                linked=row.id in self.linked,
                passages=passages[:_PASSAGES],
                reasons=self._reasons(row, one, chunks),
            )
            results.append(related_note)
        return results

    def _passages(self, one: _Candidate, documents: Mapping[str, Document]) -> list[Passage]:
        """Return the sentences nearest in meaning; one that both notes have comes last."""
        passages: list[Passage] = []
        for chunk, at, score, _ in one.sentences:
            if chunk in documents:
                sentences = sentences_of(documents[chunk])
                number, text, _ = sentences[min(at, len(sentences) - 1)]
                passages.append(Passage(number, text, round(score, 6)))
        return sorted(passages, key=lambda passage: passage.text in self._sentences)

    @cached_property
    def _sentences(self) -> set[str]:
        """Those of the note itself."""
        return {one.text for chunk in self._chunks for one in sentences_of(chunk)}

    def _reasons(self, row: NoteRow, one: _Candidate, chunks: list[Document]) -> Reasons:
        tags = [tag for tag in self._row.tags if tag in row.tags]
        both = self._links.links_to(row, self._linking) if self._linking else ()
        return Reasons(
            word_reasons(self._words, chunks),
            round(one.sentences[0].cosine, 6) if one.sentences else 0.0,
            # Without the parents of nested ones.
            [tag for tag in tags if not any(more.startswith(f"{tag}/") for more in tags)],
            one.names,
            sorted({f"{link.source.vault}/{link.source.path}" for link in both}),
        )

    def _link_to(self, row: NoteRow) -> str:
        """Return the shortest wiki link to a note, its suffix left out in Markdown alone."""
        path = PurePosixPath(row.path)
        names = [path.name, row.path]
        if path.suffix.lower() in MARKDOWN:
            names = [path.stem, path.name, str(path.with_suffix("")), row.path]
        for name in names:
            targets = self._links.resolve(name, self._row.vault, self._row.path)
            if [note.id for note in targets] == [row.id]:
                return f"[[{name}]]"
        return f"[[{row.vault}/{row.path}]]"
