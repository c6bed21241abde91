"""From the chunks that a query found to the notes that are shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.answers.notices import tongue
from rag.search.exact_words import with_exact_words
from rag.search.filters import MODIFIED, TITLE, Filter, all_of, one_of, ordered_notes
from rag.search.query import CHUNKS_PER_NOTE, Hit, Part, Query, Retrieval
from rag.search.query_variants import WEIGHTS, Variants
from rag.search.results import SearchMode
from rag.search.score_fusion import Nearness, find_lists, fuse, widened
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.scored_chunk import Candidate
from rag.stores.base.scored_chunk import Query as QueryVector
from rag.stores.edge.retrievers import with_store
from rag.text.token_estimate import count_tokens
from rag.text.tokenizer import terms
from rag.vault.markdown import plain

# Two texts are near-duplicates when so much of their terms together is common to both
# (Jaccard). Only results whose lengths and scores are as near as this are compared: texts that
# say the same score the same.
_SAME_TERMS = 0.9
_SAME_PIECES = 0.5  # of what stands between spaces; marks and other forms part those of equal terms
_LONG_WORD = 12  # characters between spaces; where there are more, words are not spaced
_MIN_TOKENS = 30  # shorter texts may well agree by chance
_SAME_LENGTH = 0.8
_SAME_SCORE = 0.03
_ROUNDING = 1e-9
_TIED = 3  # decimals of a score that tell hits apart; they are shown with fewer
_WEIGHED = 2  # hits that are needed to say by how much one is ahead


class OverStore:
    """What components that read a store share: their arguments, and their serialised form."""

    def __init__(self, document_store: BaseDocumentStore, top_k: int = 10) -> None:
        self.document_store = document_store
        self.top_k = top_k

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its store."""
        return default_to_dict(self, document_store=self.document_store.to_dict(), top_k=self.top_k)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        return default_from_dict(cls, with_store(data))


def first_chunks(
    store: BaseDocumentStore, filters: Filter | None, notes: list[str]
) -> list[Candidate]:
    """Return the first chunk of each of these notes, as far as the filters let them."""
    first = {"field": "meta.position", "operator": "==", "value": 0}
    return store.newest(all_of([filters, one_of("file_id", notes), first]), len(notes))


@component
class ChunkRetriever(OverStore):
    """Find the chunks that share words with a query, or are near it in meaning.

    :param document_store: where to look.
    """

    @component.output_types(retrieval=Retrieval)
    def run(self, query: Query) -> dict[str, Retrieval]:
        """Return the candidates of a query: of each kind as many as it asks for, its `named` notes
        if the filters let them, and its `matched` ones if there is room, though these may share no
        indexed term with it.

        Where a note has the very words of the query, its chunks gain by that; see
        `rag.search.exact_words`.
        """
        if query.listed:
            return {"retrieval": Retrieval(query)}
        store, limit, embedding = self.document_store, query.chunk_limit, query.embedding
        by_words, variants = query.mode != SearchMode.DENSE, query.variants
        if not by_words:
            variants = Variants(variant._replace(words=False) for variant in variants)
        if embedding is not None and query.background is not None:
            embedding = query.background.leveled(embedding)
        lists = find_lists(store, query.lexical, embedding, variants, query.filters, limit)
        full = query.full or query.weight
        covered = 1.0  # by meaning alone words leave nothing open
        candidates: list[Candidate] = []
        lexical = SparseEmbedding([], [])
        if by_words:
            covered = max((c.score for c in lists.words), default=0.0) / full
            lexical = query.lexical
            candidates = lists.words + self._of_notes(query, lists.words)
        beside = lists.beside(candidates)
        scores, cosines = self._scores(lexical, embedding, candidates, beside)
        beside = [c._replace(score=scores.get(c.id, 0.0)) for c in beside]
        near: set[str] = set()
        if embedding is not None:
            sample = [cosines[key] for key in store.sample_ids() if key in cosines]
            nearness = Nearness(sample, full, query.share, covered)
            candidates, beside = (fuse(some, cosines, nearness) for some in (candidates, beside))
            near = {c.id for c in lists.nearest if c.score > 0}  # others are turned away from it
        candidates = candidates + [c for c in beside if c.id in near]
        plain: list[Candidate] = []
        if variants:
            others = [c for c in beside if c.id not in near]
            plain = candidates
            candidates = widened(plain, others, lists, variants, query.weight, limit)
        return {"retrieval": with_exact_words(store, Retrieval(query, candidates, plain))}

    def _of_notes(self, query: Query, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the best chunks of the notes that must be among the candidates and are not."""
        required = {*query.named}
        if len(candidates) < query.chunk_limit:
            required.update(query.matched[: query.chunk_limit])
        notes = sorted(required - {candidate.note for candidate in candidates})
        if not notes:
            return []
        wanted, limit = all_of([query.filters, one_of("file_id", notes)]), query.chunk_limit
        best = self.document_store.find_candidates(query.lexical, wanted, limit)
        # Its file name may be all that a note has of the query.
        unseen = sorted({*notes} - {candidate.note for candidate in best})
        return best + first_chunks(self.document_store, query.filters, unseen)

    def _scores(
        self,
        lexical: SparseEmbedding,
        embedding: list[float] | None,
        candidates: Sequence[Candidate],
        beside: Sequence[Candidate],
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return by id what chunks beside the candidates score by words, and the cosines of all of
        them and of a sample of the index, as far as there are any."""
        unscored = [candidate.id for candidate in beside]
        asked: list[tuple[QueryVector, list[str]]] = [(lexical, unscored)]
        if embedding is not None:
            ids = unscored + [c.id for c in candidates] + self.document_store.sample_ids()
            asked.append((embedding, ids))
        scores, cosines = [*self.document_store.score_each(asked), {}][:2]
        return scores, cosines


@component
class NoteRanker:
    """Rank notes by their best chunks together; each note is shown by its best one.

    A note scores s1 + .3·s2 + .1·s3 for its three best sections, of each its best chunk: the
    parts of a section that had to be cut share its headings and part of its text, and would
    count them twice. Its meaning, and the very words of the query, count for its best section
    alone.
    A note whose name is the query comes before all that are not.

    :param weights: what the first, second, … section of a note counts for.
    """

    def __init__(self, weights: Sequence[float] = WEIGHTS.sections) -> None:
        if not weights:
            raise ValueError("NoteRanker needs at least one weight")
        self.weights = list(weights)

    @component.output_types(retrieval=Retrieval)
    def run(self, retrieval: Retrieval) -> dict[str, Retrieval]:
        """Return all `hits`, best first, since some may turn out to be duplicates.

        Where variants of the query were searched for too, the best that the query itself found
        stays among the first ten, and among those that are shown.
        """
        query = retrieval.query
        hits = self._ranked(retrieval.candidates, query)
        if retrieval.plain:
            best = self._ranked(retrieval.plain, query)[0]
            hits = _keep(hits, best, query.chunks, min(query.top_k, WEIGHTS.kept))
        return {"retrieval": replace(retrieval, hits=hits)}

    def _ranked(self, candidates: Sequence[Candidate], query: Query) -> list[Hit]:
        ranked = sorted(candidates, key=lambda c: (-c.score, c.id))
        groups: dict[str, list[Candidate]] = {}
        for candidate in ranked:
            key = candidate.id if query.chunks else candidate.note
            groups.setdefault(key, []).append(candidate)
        hits = [self._merge(group) for group in groups.values()]
        # Above whatever else was found, even where its name is all that a note has of the query.
        bonus = 1.0 + max((hit.score for hit in hits), default=0.0)
        first = {*query.named}
        hits = [
            hit._replace(score=hit.score + bonus, bonus=bonus) if hit.note in first else hit
            for hit in hits
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))

    def _merge(self, ranked: list[Candidate]) -> Hit:
        sections: dict[int, Candidate] = {}
        for candidate in ranked:
            sections.setdefault(candidate.section, candidate)
        first, *others = sections.values()
        # The very words of the query count once for a note, however many of its sections hold them;
        # and so does meaning, or long notes would come first.
        best = [first, *map(_by_words, others[: len(self.weights) - 1])]
        parts = tuple(
            Part(c.id, weight, c.score, c.meaning, c.cosine, c.gains, c.forms)
            for weight, c in zip(self.weights, best, strict=False)
            if c is first or c.score > _ROUNDING  # others may have been near in meaning alone
        )
        score = sum(part.weight * part.score for part in parts)
        return Hit(ranked[0].id, ranked[0].note, score, parts)


def _by_words(candidate: Candidate) -> Candidate:
    """Return a chunk with what its indexed words score, and its variants gain, alone."""
    rest = candidate.score - candidate.forms - candidate.meaning
    return candidate._replace(score=rest, forms=0.0, meaning=0.0)


def _keep(hits: list[Hit], best: Hit, chunks: bool, first: int) -> list[Hit]:
    """Mark the hit of a note (or chunk), and move it up when it is not among the first."""
    at = next(
        i for i, hit in enumerate(hits) if (hit.id == best.id if chunks else hit.note == best.note)
    )
    hits.insert(min(at, first - 1), hits.pop(at)._replace(kept=True))
    return hits


def list_notes(store: BaseDocumentStore, query: Query) -> list[Hit]:
    """List the notes that the filters of a query select, the newest first or as it asks."""
    manifest = store.manifest()
    if manifest and query.order in (MODIFIED, TITLE):
        notes = newest_notes(store, query, max(1, manifest.rows()))
        notes = ordered_notes(manifest, notes, query.order)[: query.top_k]
    else:
        notes = newest_notes(store, query, query.top_k)
    first = {
        candidate.note: candidate.id for candidate in first_chunks(store, query.filters, notes)
    }
    return [Hit(first[note], note, 0.0) for note in notes if note in first]


def newest_notes(store: BaseDocumentStore, query: Query, top_k: int) -> list[str]:
    """Return the ids of the notes that the filters of a query select, the newest first; none where
    it does not ask for a list."""
    notes: list[str] = []
    wanted = top_k * CHUNKS_PER_NOTE
    while query.lists:
        newest = store.newest(query.filters, wanted)
        notes = list(dict.fromkeys(candidate.note for candidate in newest))
        if len(notes) >= top_k or len(newest) < wanted:
            break
        wanted *= 4
    return notes[:top_k]


@component
class DocumentLoader(OverStore):
    """Read the documents of the best hits, and set near-duplicates aside.

    :param document_store: where they are.
    :param top_k: how many to return.
    """

    @component.output_types(documents=list[Document], retrieval=Retrieval)
    def run(self, retrieval: Retrieval) -> dict[str, Any]:
        """Return the `documents` of the best hits, each with the score of its hit; and the
        `retrieval` with just these hits, loaded, each with the duplicates that it stands for. Of a
        single one, the hit `beyond` it is what it is weighed against.

        Of hits that score the same, those in the language of the query go first.
        """
        query, store = retrieval.query, self.document_store
        if query.listed:
            hits = list_notes(store, query)
            documents = {d.id: d for d in store.get_documents([hit.id for hit in hits])}
            hits = [hit._replace(document=documents[hit.id]) for hit in hits if hit.id in documents]
            return _loaded(replace(retrieval, hits=hits))
        wanted = max(query.top_k, query.depth)
        limit = max(wanted, _WEIGHED)
        shown: list[_Shown] = []
        known, language = {**retrieval.read}, tongue(query.meant)
        for start in range(0, len(retrieval.hits), limit):
            if len(shown) == limit:
                break
            batch = retrieval.hits[start : start + limit]
            new = [hit.id for hit in batch if hit.id not in known]
            known |= {d.id: d for d in (store.get_documents(new) if new else ())}
            for hit in _ties_by_language(batch, known, language):
                if hit.id in known:
                    _place(shown, hit, replace(known[hit.id], score=hit.score), limit)
        hits = [one.loaded() for one in shown]
        return _loaded(replace(retrieval, hits=hits[:wanted], beyond=hits[wanted:]))


def _loaded(retrieval: Retrieval) -> dict[str, Any]:
    return {"documents": retrieval.documents, "retrieval": retrieval}


class _Shown:
    """A result, and what it stands for."""

    def __init__(self, hit: Hit, document: Document) -> None:
        self.hit = hit
        self.document = document
        self.duplicates: list[Document] = []
        self._terms: frozenset[str] | None = None

    def loaded(self) -> Hit:
        """Return the hit with its document and those of its duplicates."""
        return self.hit._replace(document=self.document, duplicates=tuple(self.duplicates))

    def says_the_same(self, other: _Shown) -> bool:
        """Return whether two results are near-duplicates; the cheap signs are examined first."""
        mine, theirs = self.hit.score - self.hit.bonus, other.hit.score - other.hit.bonus
        if self.hit.note == other.hit.note or abs(mine - theirs) > _SAME_SCORE * mine:
            return False
        sizes = sorted((len(self.document.content or ""), len(other.document.content or "")))
        if sizes[0] < sizes[1] * _SAME_LENGTH:
            return False
        if not _may_be_same(self.pieces, other.pieces):
            return False
        common = self.terms() & other.terms()
        return len(common) >= _SAME_TERMS * len(self.terms() | other.terms()) > 0

    @cached_property
    def pieces(self) -> frozenset[str]:
        """What stands between spaces, or single characters where there are few."""
        text = self.document.content or ""
        words = text.split()
        return frozenset(words if len(words) * _LONG_WORD > len(text) else text)

    def terms(self) -> frozenset[str]:
        """Return the terms of the text; none when it is too short to compare."""
        if self._terms is None:
            text = plain(self.document.content or "")
            is_long = count_tokens(text) >= _MIN_TOKENS
            self._terms = frozenset(terms(text) if is_long else ())
        return self._terms


def _may_be_same(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    """Return whether so much is common that the terms are worth comparing: to find those takes ten
    times as long."""
    return len(mine & theirs) >= _SAME_PIECES * len(mine | theirs)


def _ties_by_language(
    hits: Sequence[Hit], documents: Mapping[str, Document], language: str
) -> Iterator[Hit]:
    """Yield hits in their order, but of those that score the same the ones in a language first."""
    for _, tied in groupby(hits, lambda hit: round(hit.score, _TIED)):
        group = [*tied]
        if language and len(group) > 1:
            read = (documents.get(hit.id) for hit in group)
            content = {document.id: document.content or "" for document in read if document}
            group.sort(key=lambda hit: tongue(content.get(hit.id, "")) != language)
        yield from group


def _place(shown: list[_Shown], hit: Hit, document: Document, limit: int) -> None:
    """Add a result to those shown, or to the one that says the same."""
    fresh = _Shown(hit, document)
    # A note of that very name is what was asked for, whatever else says the same.
    stays = hit.bonus or hit.kept
    same = None if stays else next((one for one in shown if one.says_the_same(fresh)), None)
    if same:
        same.duplicates.append(document)
    elif len(shown) < limit:
        shown.append(fresh)
