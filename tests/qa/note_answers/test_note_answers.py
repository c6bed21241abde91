"""Lists, counts and last dates, answered from the index."""

from collections.abc import Callable
from contextlib import closing
from datetime import date
from typing import Any

import pytest

from rag.config import RAGConfig
from rag.pipelines import QueryFilters, create_qa_pipeline
from rag.qa.answer import Answer
from rag.qa.pipeline import ask
from rag.query.note_questions import note_question
from rag.search.planned_query import find_intent
from rag.stores import get_document_store
from tables import rows

TODAY = date(2026, 11, 23)
RUNBOOK = "---\ntags: [runbook]\ncreated: 2026-0{}-10\n---\n# Runbook {}\n\nRestart the service.\n"
NOTES = {
    "life": {
        "2026-11-17.md": "# 2026-11-17\n\nMet Tanaka at the harbour. We booked the early ferry.\n",
        "2026-11-03.md": "# 2026-11-03\n\nMet Tanaka and Sato for lunch.\n\n"
        "We discussed the ferry.\n",
        "2026-11-20.md": "# 2026-11-20\n\n- [ ] Meet Tanaka\n- Did not meet Tanaka: he was ill.\n",
        "2027-01-05.md": "# 2027-01-05\n\nMet Tanaka in the future.\n",
        "ferry.md": "---\ncreated: 2026-05-02\ntags: [travel]\n---\n"
        "# Ferry\n\nIt leaves at nine.\n",
        "garden.md": "---\ncreated: 2025-01-01\n---\n# Garden\n\n"
        "## 2026-09-10\n\nPruned the tree.\n\n"
        "## 21 October 2026\n\nPruned the roses.\n",
        "2026-10-30.md": "# 10月30日\n\n田中さんに会った。浄水器のフィルターを交換した。\n",
        "2026-11-18.md": "# 11月18日\n\n田中さんと会議。フェリーを予約した。\n",
        **{f"runbook-{n}.md": RUNBOOK.format(n, n) for n in range(1, 10)},
    },
    "work": {
        "deploy.md": "---\ntags: [ops]\ncreated: 2026-10-12\n---\n# Deploy\n\nRoll back.\n",
        "restore.md": "---\ncreated: 2026-10-13\n---\n# Restoring\n\nRestore the backup.\n",
        "drill.md": "---\ncreated: 2026-07-01\n---\n# Drill\n\nWe restored the backup.\n",
    },
}


@pytest.fixture(scope="module")
def config(build_index) -> RAGConfig:
    return build_index(NOTES)


@pytest.fixture(scope="module")
def answer(config):
    """Answer a question about the notes."""
    with get_document_store(config) as store, closing(create_qa_pipeline(store, config)) as made:

        def answered(
            question: str, filters: QueryFilters | None = None, top_k: int | None = None
        ) -> Answer:
            about = note_question(question, TODAY)
            assert about
            intent, _ = find_intent(store, config, question, filters, today=TODAY)
            return ask(made, question, filters, top_k, intent=intent, about=about)

        yield answered


Answered = Callable[..., Any]


def paths(answer: Answer) -> list[str]:
    return [source.file_path for source in answer.sources]


class TestLists:
    def test_by_a_filter_all_notes_are_listed_the_newest_first(self, answer):
        found = answer("which notes are tagged runbook")
        assert paths(found) == [f"runbook-{n}.md" for n in range(9, 0, -1)]
        assert found.text == "9 notes (#runbook)"
        assert (found.notes.asked, found.notes.count, found.notes.words) == ("list", 9, [])

    def test_by_words_so_many_are_as_are_shown_and_all_are_counted(self, answer):
        found = answer("list all notes about the ferry", top_k=2)
        assert len(found.sources) == 2
        assert found.text == '3 notes hold "ferry"'
        assert found.notes.count == 3

    def test_each_note_points_at_the_line_that_holds_the_words(self, answer):
        lines = {
            one.file_path: one.line for one in answer("list all notes about the ferry").sources
        }
        assert lines == {"2026-11-17.md": 3, "2026-11-03.md": 5, "ferry.md": 5}

    def test_japanese_notes_are_listed(self, answer):
        found = answer("フェリーについてのノートを全部")
        assert paths(found) == ["2026-11-18.md"]
        assert found.text == "「フェリー」を含むノートは1件です"


class TestCounts:
    def test_by_a_filter_the_number_is_exact_and_some_are_named(self, answer):
        found = answer("how many notes are tagged runbook")
        assert (found.notes.count, len(found.sources)) == (9, 5)
        assert found.text == "9 notes (#runbook)"

    def test_by_words_and_a_time_both_count(self, answer):
        found = answer("how many notes since November 2026 mention Tanaka")
        assert found.notes.count == 4
        assert found.text == '4 notes hold "Tanaka" (2026-11-01 –)'

    @rows("asked", "did I edit", "did we change", "were edited")
    def test_notes_that_were_edited_are_chosen_by_when(self, answer, asked):
        found = answer(f"how many notes {asked} in March 2020")
        assert found.text == "no note fits (modified 2020-03-01 – 2020-03-31)"

    def test_of_two_tags_one_that_no_note_has_takes_the_other_along_only_with_and(self, answer):
        assert answer("how many notes are tagged runbook or zebra").notes.count == 9
        assert answer("how many notes are tagged runbook and zebra").notes.count == 0

    def test_what_was_understood_as_a_filter_is_not_dropped(self, answer):
        found = answer("how many notes are from March 2020")
        assert (found.found, found.notes.count, found.relaxed) == (False, 0, False)

    @rows(
        "question",
        "how many notes mention Tanaka but not Sato?",
        "how many notes mention 'Tanaka' but not Sato?",
        "how many notes mention Tanaka, not Sato",
        "how many notes mention Tanaka and do not mention Sato",
    )
    def test_notes_that_hold_what_is_not_wanted_do_not_count(self, answer, question):
        assert answer("how many notes mention Tanaka").notes.count == 4
        found = answer(question)
        assert (found.notes.count, found.notes.words) == (3, ["Tanaka"])
        assert found.text.endswith("(-Sato)")

    @rows(
        "question, count, text",
        ("how many notes about Sato or the garden?", 2, '2 notes hold "Sato" or "garden"'),
        (
            "how many notes mention roses, Sato or backups",
            4,
            '4 notes hold "roses" or "Sato" or "backups"',
        ),
        (
            'how many notes mention "early ferry" or "the tree"',
            2,
            '2 notes hold "early ferry" or "the tree"',
        ),
        (
            "how many notes mention Tanaka or Sato -lunch",
            3,
            '3 notes hold "Tanaka" or "Sato" (-lunch)',
        ),
        (
            "how many notes from November 2026 mention lunch or the early ferry",
            2,
            '2 notes hold "lunch" or "early" and "ferry" (2026-11-01 – 2026-11-30)',
        ),
        (
            "フィルターかフェリーのノートはいくつ",
            2,
            "「フィルター」または「フェリー」を含むノートは2件です",
        ),
        (
            "フィルターまたはフェリーについてのノートはいくつ",
            2,
            "「フィルター」または「フェリー」を含むノートは2件です",
        ),
    )
    def test_of_alternatives_one_is_enough(self, answer, question, count, text):
        found = answer(question)
        assert (found.notes.count, found.text) == (count, text)
        assert len(found.notes.any_of) > 1
        assert len(found.sources) == count

    def test_japanese_notes_are_counted(self, answer):
        assert answer("田中さんについてのノートはいくつ").notes.count == 2
        assert answer("先月のノートは何件ありますか").notes.count == 3


class TestLastDates:
    def test_the_newest_sentence_that_tells_of_it_says_the_day(self, answer):
        found = answer("when did I last meet Tanaka?")
        assert found.text == "17 November 2026: Met Tanaka at the harbour. [1]"
        assert (found.notes.last.date, found.notes.last.dated_by) == (date(2026, 11, 17), "note")
        [quote] = found.quotes
        assert (quote.text, quote.line) == ("Met Tanaka at the harbour.", 3)
        assert paths(found) == ["2026-11-17.md"]

    def test_a_heading_dates_what_stands_below_it(self, answer):
        found = answer("when did I last prune the tree?")
        assert (found.notes.last.date, found.notes.last.dated_by) == (date(2026, 9, 10), "heading")

    def test_a_time_in_the_question_is_that_of_the_passage(self, answer):
        before = answer("when did I last meet Tanaka before 2026-11-17")
        assert before.notes.last.date == date(2026, 11, 3)
        heading = answer("when did I last prune the tree since 2026-09-01")
        assert heading.notes.last.date == date(2026, 9, 10)

    def test_an_instruction_is_no_event(self, answer):
        found = answer("when did I last restore the backup?")
        assert (found.notes.last.date, found.quotes[0].text) == (
            date(2026, 7, 1),
            "We restored the backup.",
        )

    def test_nothing_that_tells_of_it_is_not_found(self, answer):
        found = answer("when did I last meet Suzuki")
        assert (found.found, found.notes.last.date, found.text) == (
            False,
            None,
            "not found in your notes",
        )

    def test_japanese_days_are_told(self, answer):
        found = answer("最後に田中さんに会ったのはいつ？")
        assert found.text == "2026年10月30日: 田中さんに会った。 [1]"
        assert answer("前回フィルターを交換したのはいつ").notes.last.date == date(2026, 10, 30)
