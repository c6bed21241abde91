"""How many notes say something in their front matter: "How many projects are active?"."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace

from rag.answers.quotation.question import Question
from rag.qa.answer import Answer, NotesAnswer
from rag.qa.found_passages import passage_of
from rag.qa.note_answers.chosen_notes import newest_first, newest_results
from rag.qa.note_answers.wording import conditions_of, counted
from rag.search.components.note_ranker import first_chunks
from rag.search.filters import all_of, one_of
from rag.search.results import QueryFilters
from rag.search.understanding.query_understanding import understand
from rag.stores.base.batch import Batch
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.normalize import normalize
from rag.text.tokenizer import stem

_HELD = 0.9  # of a question, what a note's names, place and front matter hold
_MOST_NOTES = 2_000  # that are read
_WORD = re.compile(r"[^\W\d_]+")


def count_stated(
    store: BaseDocumentStore, question: str, filters: QueryFilters, shown: int
) -> Answer | None:
    """Return how many notes have a property whose value a question names, and whose title,
    folders, tags and properties hold the rest of it; `None` where there are none, for then the
    question is one for the text of the notes.

    :param shown: how many of the notes are named, the newest.
    """
    manifest = store.manifest()
    asked = Question(question, store.counts.rarity)
    if manifest is None or not asked.weights:
        return None
    catalogue = manifest.catalogue
    named = [
        (field, value)
        for field, value, _ in catalogue.stated_in(question.lower(), asked.weights)
        if asked.repeats(value)
    ]
    chosen_by = _words(question) & _words(" ".join(value for _, value in named))
    values_of = defaultdict(set)
    for field, value in named:
        for note in catalogue.bearing(field, value.__eq__):
            values_of[note].add((field, value))
    if not values_of or len(values_of) > _MOST_NOTES:
        return None
    understood = understand(store, "", filters, lists=True)
    chosen = all_of([understood.filters, one_of("file_id", Batch(sorted(values_of)))])
    ids = [candidate.id for candidate in first_chunks(store, chosen, [*values_of])]
    notes = []
    for document in store.get_documents(ids):
        passage = passage_of(document, 1, ())
        held = asked.held(f"{passage.names}\n{passage.stated}")
        note = str(document.meta["file_id"])
        # Words such as "done" weigh nothing, and choose all the same.
        values = " ".join(value for _, value in values_of[note])
        chooses = chosen_by <= _words(f"{passage.names} {passage.place} {values}")
        if chooses and sum(asked.weights[term] for term in held) >= _HELD:
            notes.append(note)
    if not notes:
        return None
    said = defaultdict(set)
    for field, value in set().union(*(values_of[note] for note in notes)):
        said[field].add(value)
    conditions = [f"{field}: {' / '.join(sorted(said[field]))}" for field in sorted(said)]
    text = counted(len(notes), [[]], [*conditions_of(filters), *conditions], question)
    results = newest_results(store, understood, newest_first(store, notes)[:shown])
    lines = (
        next((one.line for one in result.properties if one.name in said), result.line)
        for result in results
    )
    sources = [replace(one, line=line) for one, line in zip(results, lines, strict=True)]
    return Answer(text, sources, 0.0, notes=NotesAnswer("count", len(notes)))


def _words(text: str) -> set[str]:
    return {stem(word) for word in _WORD.findall(normalize(text))}
