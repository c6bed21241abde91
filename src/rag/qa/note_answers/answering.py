"""Answers to questions about the notes themselves: no model is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from rag.answers.notices import notice
from rag.qa.answer import Answer, NotesAnswer, Quote
from rag.qa.note_answers.chosen_notes import (
    Chosen,
    choose_notes,
    newest_results,
    ranked_results,
    results_of,
)
from rag.qa.note_answers.last_time import find_last_time
from rag.qa.note_answers.wording import conditions_of, counted, day_text
from rag.query.note_questions import Asked, NoteQuestion
from rag.search.results import QueryFilters, SearchResult
from rag.stores.base.document_store import BaseDocumentStore

if TYPE_CHECKING:
    from rag.search.planned_query import Intent

_NEAREST = 3  # notes that are named where none was meant


def answer_about_notes(
    store: BaseDocumentStore,
    question: str,
    asked: NoteQuestion,
    filters: QueryFilters | None,
    intent: Intent | None,
    top_k: int | None,
    shown: int,
) -> Answer:
    """List notes, count them, or say when something was last.

    What was understood as a filter is never dropped: a number of other notes answers nothing.

    :param filters: of whoever asks, beside the question.
    :param intent: what the question and the filters mean, if it was planned.
    :param top_k: how many notes are named at most; `None` names all that filters alone choose.
    :param shown: how many are named where nobody said so, of those that hold words, and of those
        that are counted.
    :raises QueryError: when a path is no pattern.
    :raises UsageError: for a vault that the index does not hold.
    """
    given = filters or QueryFilters()
    if asked.asked == Asked.LAST:
        return _last(store, question, asked, given, intent)
    chosen_by = intent.filters if intent else given
    most = top_k or shown
    is_list = asked.asked == Asked.LIST
    named = None if is_list and top_k is None else most
    chosen = choose_notes(store, asked, chosen_by, intent, named)
    words = chosen.told
    if not chosen.words:
        results = newest_results(store, chosen.understood, chosen.notes)
    elif chosen.notes:
        filtered = chosen.understood.filters
        results = ranked_results(store, chosen.understood, most, filtered, chosen.notes)
    else:
        results = []
    conditions = [*conditions_of(chosen.filters), *chosen.conditions]
    text = counted(chosen.count, chosen.any_of or [words], conditions, question)
    kind: Literal["list", "count"] = "list" if is_list else "count"
    found = NotesAnswer(kind, chosen.count, words, any_of=chosen.any_of)
    return _answer(store, chosen, given, text, results, found)


def _last(
    store: BaseDocumentStore,
    question: str,
    asked: NoteQuestion,
    given: QueryFilters,
    intent: Intent | None,
) -> Answer:
    """Say when something was last: on the day of the newest passage that tells of it."""
    filters, first, last = given, None, None
    if intent:
        filters, window = intent.filters, intent.plan.metadata.time_window
        if intent.names_time and window.field == "created":
            # The time that is asked for is that of the passage, which a heading may say.
            first, last = window.first, window.last
            filters = replace(filters, date_from=given.date_from, date_to=given.date_to)
    chosen = choose_notes(store, asked, filters, intent)
    words = chosen.told
    time = find_last_time(store, chosen, first, last, intent.today if intent else None)
    chosen.notices.extend(filter(None, [time.notice]))
    if time.passage is None:
        text = notice(question, "not_found")
        return _answer(store, chosen, given, text, [], NotesAnswer("last", 0, words))
    passage = time.passage
    [source] = results_of(store, chosen.understood, [(passage.note, passage.chunk)])
    source = replace(source, line=passage.line)
    text = f"{day_text(passage.day, question)}: {passage.text} [1]"
    found = NotesAnswer("last", time.notes, words, passage.day, passage.dated_by)
    answer = _answer(store, chosen, given, text, [source], found)
    return replace(answer, quotes=[Quote(passage.text, 1, passage.line)])


def _answer(
    store: BaseDocumentStore,
    chosen: Chosen,
    given: QueryFilters,
    text: str,
    results: list[SearchResult],
    found: NotesAnswer,
) -> Answer:
    understood, near = chosen.understood, []
    if not found.count and understood.text:
        from rag.search.understanding.query_understanding import understand

        allowed = understand(store, "", given, lists=True).filters
        near = ranked_results(store, understood, _NEAREST, allowed)
    return Answer(
        text=text,
        sources=results,
        confidence=0.0,
        found=found.count > 0,
        searched=understood.searched,
        corrections=understood.corrections,
        tags=understood.tags,
        notices=[*chosen.notices],
        near=near,
        notes=found,
    )
