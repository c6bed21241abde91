"""From the chunks that a query found to the notes that are shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.answers.notices import tongue
from rag.index.background import Background
from rag.search.filters import Filter, all_of, one_of
from rag.search.query_variants import WEIGHTS, Variants
from rag.search.results import SearchMode
from rag.search.score_fusion import Nearness, find_lists, fuse, widened
from rag.stores.base.batch import Batch, DocumentBatch
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.scored_chunk import Candidate, Candidates, Query
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


class Part(NamedTuple):
    """A chunk's share in its note's score: its document's id, weight, and own score.

    `meaning` is what of the score is due to its embedding, whose similarity is `cosine`; `gains`
    what is due to variants of the query, by their words and by their meaning; `forms` what is due
    to the very words of the query.
    """

    id: str
    weight: float
    score: float
    meaning: float = 0.0
    cosine: float = 0.0
    gains: tuple[float, float] = (0.0, 0.0)
    forms: float = 0.0


class Hit(NamedTuple):
    """A ranked note (or chunk): the id of the document to show, the note's id, and its score,

    score = bonus + Σ weight · score of the parts. `kept` marks the best of the query itself, when
    variants of it were searched for too.
    """

    id: str
    note: str
    score: float
    parts: tuple[Part, ...]
    bonus: float = 0.0
    kept: bool = False


class Hits(Batch[Hit]):
    """Hits that Haystack does not copy."""


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
    :param top_k: how many chunks to return, of each kind.
    """

    @component.output_types(candidates=Candidates, plain=Candidates)
    def run(
        self,
        query_sparse_embedding: SparseEmbedding,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        named: list[str] | None = None,
        matched: list[str] | None = None,
        query_embedding: list[float] | None = None,
        mode: str = SearchMode.HYBRID,
        weight: float = 1.0,
        full: float = 0.0,
        share: float = 1.0,
        variants: Variants | None = None,
        where: dict[str, Any] | None = None,
        background: Background | None = None,
    ) -> dict[str, Candidates]:
        """Return `candidates`, in no order; and of them, when there are variants, those that the
        query found `plain`, as if there were none.

        :param named: ids of notes that must be among them if the filters let them.
        :param matched: ids of notes that belong among them, if there is room, though they may
            share no indexed term with the query.
        :param query_embedding: without one, words alone count.
        :param mode: `dense` lets meaning alone count.
        :param weight: what the words of the query weigh together; see `rag.search.score_fusion`.
        :param full: what a text scores that holds each of them once; see `rag.search.score_fusion`.
        :param share: of the chunks of the index that have an embedding.
        :param variants: what to search for besides; they are all asked in one batch with the query.
        :param where: further filters.
        :param background: by which chunks are found that are near to this query, and not to all.
        """
        store, limit = self.document_store, top_k or self.top_k
        query, filters = query_sparse_embedding, all_of([filters, where])
        by_words = mode != SearchMode.DENSE
        sought = variants or Variants()
        if not by_words:
            sought = Variants(variant._replace(words=False) for variant in sought)
        if query_embedding is not None and background is not None:
            query_embedding = background.leveled(query_embedding)
        lists = find_lists(store, query, query_embedding, sought, filters, limit)
        covered = 1.0  # by meaning alone words leave nothing open
        if by_words:
            covered = max((c.score for c in lists.words), default=0.0) / (full or weight)
        nearest = lists.nearest
        found = lists.words if by_words else []
        query = query if by_words else SparseEmbedding([], [])
        if by_words:
            required = set(named or ())
            if len(found) < limit:
                required.update((matched or [])[:limit])
            missing = sorted(required - {candidate.note for candidate in found})
            found = found + (self._of_notes(query, filters, missing) if missing else [])
        near: set[str] = set()
        beside = lists.beside(found)
        scores, cosines = self._scores(query, query_embedding, found, beside)
        beside = [c._replace(score=scores.get(c.id, 0.0)) for c in beside]
        if query_embedding is not None:
            sample = [cosines[key] for key in store.sample.ids() if key in cosines]
            nearness = Nearness(sample, full or weight, share, covered)
            found, beside = (fuse(some, cosines, nearness) for some in (found, beside))
            near = {c.id for c in nearest if c.score > 0}  # others are turned away from it
        found = found + [candidate for candidate in beside if candidate.id in near]
        if not sought:
            return {"candidates": Candidates(found), "plain": Candidates()}
        others = [candidate for candidate in beside if candidate.id not in near]
        wider = widened(found, others, lists, sought, weight, limit)
        return {"candidates": Candidates(wider), "plain": Candidates(found)}

    def _scores(
        self,
        query: SparseEmbedding,
        embedding: list[float] | None,
        found: Sequence[Candidate],
        beside: Sequence[Candidate],
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return by id what chunks beside those that words found score by words, and the cosines
        of all of them and of a sample of the index, as far as there are any."""
        unscored = [candidate.id for candidate in beside]
        asked: list[tuple[Query, list[str]]] = [(query, unscored)]
        if embedding is not None:
            known = [candidate.id for candidate in found]
            ids = unscored + known + self.document_store.sample.ids()
            asked.append((embedding, ids))
        scores, cosines = [*self.document_store.score_each(asked), {}][:2]
        return scores, cosines

    def _of_notes(
        self, query: SparseEmbedding, filters: dict[str, Any] | None, notes: list[str]
    ) -> list[Candidate]:
        """Return the best chunks of these notes."""
        wanted = all_of([filters, one_of("file_id", notes)])
        found = self.document_store.find_candidates(query, wanted, self.top_k)
        # Its file name may be all that a note has of the query.
        unseen = sorted(set(notes) - {candidate.note for candidate in found})
        return found + first_chunks(self.document_store, filters, unseen)


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

    @component.output_types(hits=Hits)
    def run(
        self,
        candidates: Candidates,
        named: list[str] | None = None,
        chunks: bool = False,
        plain: Candidates | None = None,
        top_k: int = WEIGHTS.kept,
    ) -> dict[str, Hits]:
        """Return `hits`, best first: all of them, since some may turn out to be duplicates.

        :param named: ids of the notes that come first.
        :param chunks: rank the chunks themselves, several of one note perhaps.
        :param plain: what the query itself found, where variants of it were searched for too; the
            best of that stays among the first ten.
        :param top_k: how many of them will be shown; it stays among those.
        """
        hits = self._ranked(candidates, named, chunks)
        if plain:
            best = self._ranked(plain, named, chunks)[0]
            wanted = best.id if chunks else best.note
            hits = _keep(hits, wanted, chunks, min(top_k, WEIGHTS.kept))
        return {"hits": Hits(hits)}

    def _ranked(self, candidates: Candidates, named: list[str] | None, chunks: bool) -> list[Hit]:
        ranked = sorted(candidates, key=lambda c: (-c.score, c.id))
        groups: dict[str, list[Candidate]] = {}
        for candidate in ranked:
            groups.setdefault(candidate.id if chunks else candidate.note, []).append(candidate)
        hits = [self._merge(found) for found in groups.values()]
        # Above whatever else was found, even where its name is all that a note has of the query.
        bonus = 1.0 + max((hit.score for hit in hits), default=0.0)
        first = set(named or ())
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


def _keep(hits: list[Hit], wanted: str, chunks: bool, first: int) -> list[Hit]:
    """Mark the hit of a note (or chunk), and move it up when it is not among the first."""
    at = next(i for i, hit in enumerate(hits) if wanted == (hit.id if chunks else hit.note))
    hits.insert(min(at, first - 1), hits.pop(at)._replace(kept=True))
    return hits


@component
class DocumentLoader(OverStore):
    """Read the documents of the best hits, and set near-duplicates aside.

    :param document_store: where they are.
    :param top_k: how many to return.
    """

    @component.output_types(
        documents=list[Document], hits=Hits, duplicates=list[list[Document]], beyond=Hits
    )
    def run(
        self,
        hits: Hits,
        top_k: int | None = None,
        listed: Hits | None = None,
        read: DocumentBatch | None = None,
        query: str = "",
    ) -> dict[str, Any]:
        """Return `documents`, best first, each with the score of its hit; and, in the same order,
        their `hits` and the `duplicates` that each stands for. Of a single one, the hit `beyond` it
        is what it is weighed against.

        :param listed: notes to show as they are, in the place of `hits`.
        :param read: documents that need not be read again.
        :param query: of hits that score the same, those in its language go first.
        """
        if listed is not None:
            documents = self.document_store.get_documents([hit.id for hit in listed])
            same: list[list[Document]] = [[] for _ in documents]
            return {"documents": documents, "hits": listed, "duplicates": same, "beyond": Hits()}
        wanted = self.top_k if top_k is None else top_k
        limit = max(wanted, _WEIGHED)
        shown: list[_Shown] = []
        known = {document.id: document for document in read or ()}
        language = tongue(query)
        for start in range(0, len(hits), limit):
            if len(shown) == limit:
                break
            batch = hits[start : start + limit]
            new = [hit.id for hit in batch if hit.id not in known]
            known |= {d.id: d for d in (self.document_store.get_documents(new) if new else ())}
            for hit in _ties_by_language(batch, known, language):
                if hit.id in known:
                    _place(shown, hit, replace(known[hit.id], score=hit.score), limit)
        return {
            "documents": [one.document for one in shown[:wanted]],
            "hits": Hits(one.hit for one in shown[:wanted]),
            "duplicates": [one.duplicates for one in shown[:wanted]],
            "beyond": Hits(one.hit for one in shown[wanted:]),
        }


class _Shown:
    """A result, and what it stands for."""

    def __init__(self, hit: Hit, document: Document) -> None:
        self.hit = hit
        self.document = document
        self.duplicates: list[Document] = []
        self._terms: frozenset[str] | None = None

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
            found = {hit.id: documents.get(hit.id) for hit in group}
            content = {id: (document and document.content) or "" for id, document in found.items()}
            group.sort(key=lambda hit: tongue(content[hit.id]) != language)
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


def ids_of(hits: Iterable[Hit]) -> list[str]:
    """Return the ids of all chunks that hits were scored by."""
    return list(dict.fromkeys(part.id for hit in hits for part in hit.parts))
