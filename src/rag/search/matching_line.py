"""The line of a result that speaks most of the query, and the stretch of text around it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, NamedTuple

from rag.search.results import SearchResponse, SearchResult
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.exact_forms import asked_forms
from rag.text.matches import (
    Match,
    Span,
    find_matches,
    snippet,
    spans_of,
    weigh_matches,
    weigh_terms,
)
from rag.text.messages import without_controls
from rag.text.property_words import asking
from rag.vault.markdown import Kind
from rag.vault.sentences import ReadableLine, readable_lines, sentence_spans, sentence_units

if TYPE_CHECKING:
    from rag.search.explanation import Finders
    from rag.search.query import Retrieval

_HEADING = 0.97  # a heading, which is shown beside the path, gives way to text that says as much
_COLUMN = 0.5  # the name of a column, against what a row holds itself
_NEARBY = 0.3  # what only the sentence before or after holds, of the same paragraph
_ENDS = tuple(".!?…:;,。！？：；、，")  # after which no mark parts two lines
_PARTED = " · "
_LAST_MATCHED = 256  # lines of results
# All words of a query, against a standard deviation of how near in meaning a sentence is.
_WORDS = 4.0


class _Sentence(NamedTuple):
    """A sentence: the number of its line, what its terms count for, and whether it goes on with
    what the one before says."""

    line: int
    terms: dict[str, float]
    goes_on: bool
    counts: float = 1.0


def place_results(
    store: BaseDocumentStore,
    response: SearchResponse,
    retrieval: Retrieval,
    vectors: Mapping[str, list[list[float]]],
) -> list[Finders]:
    """Set the `line` of each result: of the sentence or row that holds most of what was searched
    for, rare words before frequent ones, and is nearest in meaning; else of the first with text.
    Where variants were searched for too, set by which searches it was found, and return these.

    :param vectors: the embeddings of the sentences of the results, by the ids of their chunks.
    """
    query, results = response.searched, response.results
    # numpy takes longer to import than a search by words runs.
    cosines = cosines_of(vectors, retrieval.query.embedding or ()) if vectors else {}
    weights = weigh_terms(query, store.frequencies().idf) if results else {}
    nearness: dict[str, dict[int, float]] = {}
    for result in results if cosines else ():
        units, near = sentence_units(result.content), cosines.get(result.chunk, [])
        if len(units) == len(near):
            pairs = zip(reversed(units), reversed(near), strict=True)  # of a line its first counts
            nearness[result.chunk] = {unit.line: cosine for unit, cosine in pairs}
    every = [cosine for lines in nearness.values() for cosine in lines.values()]
    mean, deviation = (fmean(every), pstdev(every)) if len(every) > 1 else (0.0, 0.0)
    for result in results:
        # By how many standard deviations of all that are shown each is above their mean.
        lines = nearness.get(result.chunk, {}) if deviation else {}
        deviations = {line: (cosine - mean) / deviation for line, cosine in lines.items()}
        result.line = matching_line(result, query, weights, deviations)
    if not retrieval.query.variants:
        return []
    from rag.search.explanation import trace  # most searches do without it

    finders = trace(store, retrieval)
    for result, finder in zip(results, finders, strict=True):
        result.found_by = finder.by
    return finders


def cosines_of(
    vectors: Mapping[str, Sequence[Sequence[float]]], embedding: Sequence[float]
) -> dict[str, list[float]]:
    """Return how near sentences are to an embedding, by the id of their document.

    :param vectors: of the sentences of each, of length 1, from `BaseDocumentStore.embeddings_of`.
    """
    import numpy as np

    wanted = np.asarray(embedding, np.float32)
    return {key: (np.asarray(rows, np.float32) @ wanted).tolist() for key, rows in vectors.items()}


def matching_line(
    result: SearchResult,
    query: str,
    weights: dict[str, float],
    nearness: Mapping[int, float] | None = None,
) -> int:
    """Return the number in the file of the line of a result that matches a query best.

    :param weights: what each term of the query counts for, from `rag.text.matches.weigh_terms`.
    :param nearness: how near the sentences that begin in a line of the text are in meaning.
    """
    lines, shift = result.content.split("\n"), result.repeated - result.line_start
    own = range(result.repeated, result.repeated + result.line_end - result.line_start + 1)
    read = [line for line in readable_lines(result.content) if line.number in own]
    raw = [ReadableLine(n, lines[n], Kind.TEXT) for n in own if n < len(lines) and lines[n].strip()]
    every = [*read, *raw]
    if not every:
        return result.line_start
    scores: dict[int, float] = {}
    if weights:
        # An identifier, such as the address of a link, which is not shown: its words alone are in
        # many lines.
        forms = [form for form in asked_forms(query) if form.is_identifier]
        for form in forms:
            for line in every:
                if form.is_in(line.text.lower()):
                    return line.number - shift
        # A property counts by the words that ask for it or are its value, and those of the title.
        title = weigh_matches(_matches(result.title, query), weights) if result.properties else {}
        scores = _scores(read, query, weights)
        for stated in result.properties:
            asked = find_matches(asking(stated.name, stated.value), query)
            if (terms := weigh_matches(asked, weights)).keys() - title.keys():
                scores[stated.line + shift] = sum((title | terms).values())
    if nearness:
        begins, whole = sorted(nearness), sum(weights.values()) or 1.0
        candidates = {*scores, *(line for line in begins if line in own)}
        values = {}
        for number in sorted(candidates):
            at = max(0, bisect_right(begins, number) - 1)
            near = nearness[begins[at]] if number >= begins[0] else 0.0
            if number < own.start:  # a property has no embedding: it is as near as the nearest
                near = max(nearness.values())
            values[number] = _WORDS * scores.get(number, 0.0) / whole + near
        scores = values
    if weights and not scores:
        # A word may stand only in what is not shown: a comment, an address, the mark of a fence.
        scores = _scores(raw, query, weights)
    return max(scores, key=lambda n: scores[n], default=every[0].number) - shift


def _scores(
    lines: Iterable[ReadableLine], query: str, weights: dict[str, float]
) -> dict[int, float]:
    """Return what the words of a query count for that a line's best sentence holds, by line."""
    sentences: list[_Sentence] = []
    for line in lines:
        matches = _matches(line.text, query)
        if line.kind == Kind.TABLE:
            own = [m for m in matches if not any(a <= m.start < b for a, b in line.names)]
            names = {term: _COLUMN * w for term, w in weigh_matches(matches, weights).items()}
            terms = names | weigh_matches(own, weights)
            sentences.append(_Sentence(line.number, terms, goes_on=False))
            continue
        counts = _HEADING if line.kind == Kind.HEADING else 1.0
        whole = not matches or line.kind != Kind.TEXT
        starts = [match.start for match in matches]
        for start, end in [(0, len(line.text))] if whole else sentence_spans(line.text):
            inside = matches[bisect_left(starts, start) : bisect_left(starts, end)]
            terms, goes_on = weigh_matches(inside, weights), line.goes_on or start > 0
            sentences.append(_Sentence(line.number, terms, goes_on, counts))
    scores: dict[int, float] = {}
    for at, sentence in enumerate(sentences):
        if sentence.terms:
            near = [sentences[at - 1]] if at and sentence.goes_on else []
            near += [s for s in sentences[at + 1 : at + 2] if s.goes_on]
            others = {t: w for s in near for t, w in s.terms.items() if t not in sentence.terms}
            score = sum(sentence.terms.values()) + _NEARBY * sum(others.values())
            scores[sentence.line] = max(scores.get(sentence.line, 0.0), score * sentence.counts)
    return scores


@lru_cache(_LAST_MATCHED)  # where a line matches is found first, then it is shown
def _matches(text: str, query: str) -> tuple[Match, ...]:
    return tuple(find_matches(text, query))


def excerpt(result: SearchResult, query: str, width: int) -> tuple[str, list[Span]]:
    """Return the stretch of a result around its `line`, on one line of about `width` characters as
    a reader sees it, and the (start, end) of what of it matches the query. A heading that is one of
    the result's own is left out: it is shown beside the path.
    """
    lines = readable_lines(result.content)
    if len(lines) > 1 and result.heading and lines[0].kind == Kind.HEADING:
        lines = lines[lines[0].text == result.heading[-1] :]
    wanted = result.line - result.line_start + result.repeated
    stated = [one.text for one in result.properties if one.line == result.line]
    lines = (*(ReadableLine(wanted, text, Kind.TEXT) for text in stated[:1]), *lines)
    text, within = "", (0, 0)
    spans: list[Span] = []  # no word goes on in the next line
    for line in lines:
        shown = " ".join(without_controls(line.text).split())
        if text and shown:
            text += " " if line.goes_on or text.endswith(_ENDS) else _PARTED
        if line.number == wanted:
            within = len(text), len(text) + len(shown)
        spans += [(len(text) + a, len(text) + b) for a, b in spans_of(_matches(shown, query))]
        text += shown
    return snippet(text, query, width, within if within[1] else None, spans)
