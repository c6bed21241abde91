"""From the chunks that a query found to the notes that are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from haystack import component
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.search.components import SearchComponent
from rag.search.exact_words import with_exact_words
from rag.search.filters import MODIFIED, TITLE, Filter, all_of, one_of, ordered_notes
from rag.search.query import WEIGHTS, Hit, Query, Retrieval, blended_vector, blended_words
from rag.search.results import MEANING, WORDS, SearchMode
from rag.search.score_fusion import fuse, widen
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.points import Candidate, to_document
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
_FOREMOST = 4  # times as many notes as are listed, looked at before all are
_SAME_SCORE = 0.03
_ROUNDING = 1e-9
_WEIGHED = 2  # hits that are needed to say by how much one is ahead
_NOTHING = SparseEmbedding([], [])  # a query that finds nothing
FIRST: Filter = {"field": "meta.position", "operator": "==", "value": 0}  # chunk of a note


def first_chunks(
    store: BaseDocumentStore, filters: Filter | None, notes: list[str]
) -> list[Candidate]:
    """Return the first chunk of each of these notes, as far as the filters let them."""
    return store.newest(all_of([filters, one_of("file_id", notes), FIRST]), len(notes))


@component
@dataclass(eq=False)
class ChunkRetriever(SearchComponent):
    """Find the chunks of a store that share words with a query, or are near it in meaning."""

    document_store: BaseDocumentStore

    @component.output_types(retrieval=Retrieval)
    def run(self, query: Query) -> dict[str, Retrieval]:
        """Return the candidates of a query: of each kind as many as it asks for, its `named` notes
        if the filters let them, and its `matched` ones if there is room, though these may share no
        indexed term with it; with what they gain by the very words of the query.
        """
        if query.unranked:
            return {"retrieval": Retrieval(query)}
        store, limit, embedding = self.document_store, query.chunk_limit, query.embedding
        by_words, variants = query.mode != SearchMode.DENSE, query.variants
        if not by_words:
            sides = (MEANING,)
            variants = [replace(v, sides=sides) for v in variants if MEANING in v.sides]
        if embedding is not None and query.background is not None:
            embedding = query.background.leveled(embedding)
        lexical, near = query.lexical if by_words else _NOTHING, embedding or _NOTHING
        queries, depth = [(lexical, limit), (near, limit)], max(1, limit // 2)
        if variants:  # they weigh less
            wider = blended_vector(variants) if embedding is not None else None
            queries += [(blended_words(variants), depth), (wider or _NOTHING, depth)]
        by_query, nearest, *by_variants = store.find_lists(queries, query.filters)
        wider_words, wider_near = by_variants or ([], [])
        candidates = by_query if by_words else []
        if by_words and (query.named or query.matched):
            candidates = candidates + self._of_notes(query, by_query)
        ids = {candidate.id for candidate in candidates}
        others = (c for c in (*nearest, *wider_words, *wider_near) if c.id not in ids)
        beside = list({c.id: c for c in others}.values())
        unscored, sample = [c.id for c in beside], store.sample_ids() if embedding else []
        scores, cosines = store.score_each(
            [(lexical, unscored), (near, [*unscored, *ids, *sample] if embedding else [])]
        )
        beside = [c._replace(score=scores.get(c.id, 0.0)) for c in beside]
        full, found_near = query.full or query.weight, set[str]()
        if embedding is not None:
            # By meaning alone words leave nothing open.
            best = max((c.score for c in by_query), default=0.0)
            cosines_of_sample = [cosines[key] for key in sample if key in cosines]
            covered = best / full if by_words else 1.0
            count = len(candidates)
            fused = fuse(
                [*candidates, *beside], cosines, cosines_of_sample, full, query.share, covered
            )
            candidates, beside = fused[:count], fused[count:]
            # Those of no positive cosine are turned away from the query.
            found_near = {c.id for c in nearest if c.score > 0}
        candidates = candidates + [c for c in beside if c.id in found_near]
        plain: list[Candidate] = []
        if variants:
            plain, weight = candidates, query.weight
            top = by_query[0].score if by_query else weight
            candidates = widen(
                plain,
                [c for c in beside if c.id not in found_near],
                (wider_words, top * sum(v.weight for v in variants if WORDS in v.sides)),
                (wider_near, weight * sum(v.weight for v in variants if v.is_embedded)),
                depth,
            )
        return {"retrieval": with_exact_words(store, Retrieval(query, candidates, plain))}

    def _of_notes(self, query: Query, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the best chunks of the notes that must be among the candidates and are not."""
        required, limit = {*query.named}, query.chunk_limit
        if len(candidates) < limit:
            required.update(query.matched[:limit])
        notes = sorted(required - {candidate.note for candidate in candidates})
        if not notes:
            return []
        wanted = all_of([query.filters, one_of("file_id", notes)])
        best = self.document_store.find_candidates(query.lexical, wanted, limit)
        # Its file name may be all that a note has of the query.
        unseen = sorted({*notes} - {candidate.note for candidate in best})
        return best + first_chunks(self.document_store, query.filters, unseen)


def rank_notes(candidates: Sequence[Candidate], query: Query) -> list[Hit]:
    """Rank notes by their best chunks together; each note is shown by its best one.

    A note scores s1 + .3·s2 + .1·s3 for its three best sections, of each its best chunk: parts of
    a section that had to be cut share headings and text. Its meaning, and the very words of the
    query, count for its best section alone. Notes whose name is the query come first.
    """
    groups: dict[str, dict[int, Candidate]] = {}
    for candidate in sorted(candidates, key=lambda c: (-c.score, c.id)):
        sections = groups.setdefault(candidate.id if query.chunks else candidate.note, {})
        sections.setdefault(candidate.section, candidate)
    hits = []
    best_weight, *weights = WEIGHTS.sections
    for sections in groups.values():
        first, *others = sections.values()
        parts = [first._replace(weight=best_weight)]
        # The very words of the query count once for a note, however many of its sections hold
        # them; and so does meaning, or long notes would come first.
        for weight, c in zip(weights, others, strict=False):
            by_words = c.score - c.forms - c.meaning
            if by_words > _ROUNDING:  # it may have been near in meaning alone
                parts.append(c._replace(weight=weight, score=by_words, meaning=0.0, forms=0.0))
        score = sum(part.weight * part.score for part in parts)
        hits.append(Hit(first.id, first.note, score, tuple(parts)))
    # Above whatever else was found, even where its name is all that a note has of the query.
    bonus, named = 1.0 + max((hit.score for hit in hits), default=0.0), {*query.named}
    hits = [
        hit._replace(score=hit.score + bonus, bonus=bonus) if hit.note in named else hit
        for hit in hits
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def list_notes(store: BaseDocumentStore, query: Query) -> list[Hit]:
    """List the notes that the filters of a query select, the newest first or as it asks."""
    manifest, chosen = store.manifest(), list[Candidate]()
    if manifest and query.lists and query.order in (MODIFIED, TITLE):
        order = ordered_notes(manifest, None, query.order)[: _FOREMOST * query.top_k]
        chunks = {chunk.note: chunk for chunk in first_chunks(store, query.filters, order)}
        if len(chunks) < query.top_k:  # the filters let so few through
            every = newest_chunks(store, query, max(1, manifest.rows()))
            chunks = {chunk.note: chunk for chunk in every}
            order = ordered_notes(manifest, chunks, query.order)
        chosen = [chunks[note] for note in order if note in chunks][: query.top_k]
    else:
        chosen = newest_chunks(store, query, query.top_k)
    return [Hit(chunk.id, chunk.note, 0.0) for chunk in chosen]


def newest_chunks(store: BaseDocumentStore, query: Query, top_k: int) -> list[Candidate]:
    """Return the first chunks of the notes that the filters of a query select, the newest first;
    none where it does not ask for a list."""
    return store.newest(all_of([query.filters, FIRST]), top_k) if query.lists else []


@component
@dataclass(eq=False)
class NoteLoader(SearchComponent):
    """Rank the notes that were found, read the documents of the best from the store, and set
    near-duplicates aside."""

    document_store: BaseDocumentStore

    @component.output_types(documents=list[Document], retrieval=Retrieval)
    def run(self, retrieval: Retrieval) -> dict[str, Any]:
        """Return the `documents` of the best hits, with the scores of these; and the `retrieval`
        with just these hits, loaded, each with the duplicates that it stands for. Of a single one,
        the hit `beyond` it is what it is weighed against. Of variants, the best of the query itself
        stays among the first ten, and among those that are shown."""
        query, store, shown = retrieval.query, self.document_store, list[Hit]()
        wanted, points = max(query.top_k, query.depth), {**retrieval.read}
        limit = query.top_k if query.unranked else max(wanted, _WEIGHED)
        if query.unranked:
            hits = list_notes(store, query)
        else:
            hits = rank_notes(retrieval.candidates, query)
        if retrieval.plain:
            best = rank_notes(retrieval.plain, query)[0]
            keys = [hit.id if query.chunks else hit.note for hit in hits]
            place = keys.index(best.id if query.chunks else best.note)
            first = min(place, min(query.top_k, WEIGHTS.kept) - 1)
            hits.insert(first, hits.pop(place)._replace(kept=True))
        for start in range(0, len(hits), limit):
            batch = hits[start : start + limit]
            if len(shown) == limit:
                break
            if new := [hit.id for hit in batch if hit.id not in points]:
                points |= store.get_points(new)
            loaded = [
                hit._replace(document=to_document(points[hit.id], hit.score or None))
                for hit in batch
                if hit.id in points
            ]
            for hit in loaded:
                # A note of that very name is what was asked for, whatever else says the same.
                stays = query.unranked or hit.bonus or hit.kept
                same = (at for at, other in enumerate(shown) if _say_the_same(other, hit))
                if not stays and hit.document and (at := next(same, None)) is not None:
                    duplicates = (*shown[at].duplicates, hit.document)
                    shown[at] = shown[at]._replace(duplicates=duplicates)
                elif len(shown) < limit:
                    shown.append(hit)
        retrieval = replace(retrieval, hits=shown[:wanted], beyond=shown[wanted:])
        return {"documents": retrieval.documents, "retrieval": retrieval}


def _say_the_same(first: Hit, second: Hit) -> bool:
    mine, theirs = first.score - first.bonus, second.score - second.bonus
    if first.note == second.note or abs(mine - theirs) > _SAME_SCORE * mine:
        return False
    texts = [hit.document.content or "" for hit in (first, second) if hit.document]
    shorter, longer = sorted(map(len, texts))
    if shorter < longer * _SAME_LENGTH:
        return False
    # To find the terms takes ten times as long, and numpy.
    pieces, other_pieces = map(_pieces, texts)
    if len(pieces & other_pieces) < _SAME_PIECES * len(pieces | other_pieces):
        return False
    own, others = map(_terms, texts)
    return len(own & others) >= _SAME_TERMS * len(own | others) > 0


@lru_cache(64)
def _pieces(text: str) -> frozenset[str]:
    """Return what stands between spaces, or single characters where there are few."""
    words = text.split()
    return frozenset(words if len(words) * _LONG_WORD > len(text) else text)


@lru_cache(64)
def _terms(text: str) -> frozenset[str]:
    """Return the terms of a text; none when it is too short to compare."""
    text = plain(text)
    return frozenset(terms(text) if count_tokens(text) >= _MIN_TOKENS else ())
