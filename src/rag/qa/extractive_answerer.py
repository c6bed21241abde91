"""Answers without a model: the parts of the notes for which most speaks as an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from haystack import component
from haystack.dataclasses import Document

from rag.answers.quotation.question import Question
from rag.answers.quotation.selection import Choice, choose
from rag.answers.quotation.units import Kind, quotable_units
from rag.qa.answer import Place, Quote
from rag.qa.found_passages import FoundPassage, found_passages, line_in_file
from rag.search.components.note_ranker import Hits, OverStore
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.scored_chunk import Candidates


@component
class QuotationAnswerer(OverStore):
    """Answer a question by quoting what speaks of it most in the notes that were found.

    :param document_store: where the notes are.
    :param top_k: how many quotations there are at most.
    """

    def __init__(self, document_store: BaseDocumentStore, top_k: int = 3) -> None:
        if top_k < 1:
            raise ValueError("top_k must be at least 1")
        OverStore.__init__(self, document_store, top_k)

    @component.output_types(quotes=list[Quote], places=list[list[Document]], confidence=float)
    def run(
        self,
        query: str,
        documents: list[Document],
        hits: Hits,
        candidates: Candidates,
        embedding: list[float] | None = None,
        listed: bool = False,
    ) -> dict[str, list[Quote] | list[list[Document]] | float]:
        """Return `quotes`, the best one first; in `places` at the place of each the chunk that it
        is from, and those of its `also`; and `confidence`, the probability that the first answers
        the question. There are no quotes when that is too low.

        A quote's `source` counts from 1 in `documents`.

        :param query: the question, its misspelt words corrected.
        :param documents: what the notes are shown by that were found, and their `hits`.
        :param candidates: all chunks that were found.
        :param embedding: of the question, where it was searched by meaning.
        :param listed: whether the documents themselves are what was asked for, and not what they
            say of it: each is quoted with its first sentence then.
        """
        if listed:
            begun = list(_beginnings(documents))[: self.top_k]
            places = [[documents[quote.source - 1]] for quote in begun]
            return {"quotes": begun, "places": places, "confidence": 0.0}
        store = self.document_store
        found = found_passages(store, documents, hits, candidates, embedding)
        question = Question(query, store.counts.rarity)
        chosen, confidence = choose(question, [one.passage for one in found], self.top_k)
        quotes, places = [], []
        for best, also in chosen:
            ranks_and_lines = [_place(found, choice) for choice in (best, *also)]
            quotes.append(Quote(_text(found, best), *ranks_and_lines[0], also=ranks_and_lines[1:]))
            places.append([found[choice.passage].document for choice in (best, *also)])
        return {"quotes": quotes, "places": places, "confidence": confidence}


def _place(found: Sequence[FoundPassage], choice: Choice) -> Place:
    """Return the rank of a unit's note, and the line that it begins in."""
    one = found[choice.passage]
    return Place(one.passage.rank, line_in_file(one.document, choice.unit.first))


def _text(found: Sequence[FoundPassage], choice: Choice) -> str:
    """Return the text of a unit; a property says little without the title of its note."""
    title = found[choice.passage].document.meta.get("title", "")
    is_stated = choice.unit.kind == Kind.PROPERTY and title
    return f"{title} · {choice.unit.text}" if is_stated else choice.unit.text


def _beginnings(documents: Sequence[Document]) -> Iterator[Quote]:
    for rank, document in enumerate(documents, 1):
        skipped = int(document.meta.get("repeated", 0))
        units = (unit for unit in quotable_units(document.content or "") if unit.first >= skipped)
        first = next((unit for unit in units if unit.kind not in (Kind.TABLE, Kind.LIST)), None)
        if first:
            yield Quote(first.text, rank, line_in_file(document, first.first))
