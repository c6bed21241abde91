"""`rag ask` and `rag chat` about the notes themselves: lists, counts and last dates."""

import json
from datetime import date, timedelta

import pytest

MODELS = ["llama3.2"]
WEEK_AGO = date.today() - timedelta(days=date.today().weekday() + 4)  # a Thursday, last week
RUNBOOK = "---\ntags: [runbook]\ncreated: 2025-0{}-10\n---\n# Runbook {}\n\nGo.\n"
NOTES = {
    f"{WEEK_AGO}.md": "# Thursday\n\nMet Tanaka. We decided to book the early ferry.\n",
    "2025-11-03.md": "# 2025-11-03\n\nMet Tanaka. We decided to postpone the ferry.\n",
    **{f"runbook {n}.md": RUNBOOK.format(n, n) for n in range(1, 8)},
}


@pytest.fixture
def vault(rag, write_notes):
    assert rag("index", "-q", write_notes("life", NOTES)).code == 0


def chat(rag, typed, *lines: str) -> list[dict[str, object]]:
    """Return the turns of a conversation."""
    typed(*lines)
    return [json.loads(line) for line in rag("chat", "--json").out.splitlines()]


class TestAsk:
    def test_a_list_by_a_filter_names_every_note_and_nothing_else(self, rag, vault):
        ran = rag("ask", "which notes are tagged runbook")
        assert ran.code == 0
        assert ran.out.splitlines() == [
            "7 notes (#runbook):",
            *(f"[{8 - n}] Runbook {n}  life/runbook {n}.md:5" for n in range(7, 0, -1)),
        ]
        [said] = ran.err.splitlines()
        assert said.startswith("#runbook · newest first")

    def test_a_count_says_how_many_more_there_are_than_it_names(self, rag, vault):
        ran = rag("ask", "how many notes are tagged runbook", "-k", "2")
        assert ran.code == 0
        first, *_, last = ran.out.splitlines()
        assert (first, last) == ("7 notes (#runbook):", "… and 5 more (--top-k 7 names all)")

    def test_whoever_is_present_in_front_matter_or_a_heading_was_met(self, rag, write_notes):
        notes = {
            "2025-03-02 Planning.md": (
                "---\ncreated: 2025-03-02\nattendees: [Kenji Mori, Ana]\n---\n# Planning\n\nBlue.\n"
            ),
            "Walks.md": (
                "# Walks\n\n## 2025-06-11 with Kenji\n\nRain.\n\n## 2025-06-30 mika\n\nWind.\n\n"
                "## 2025-07-01 slides of Kenji for Mika\n\nRead.\n"
            ),
            "Lantern.md": "---\ncreated: 2025-08-01\nowner: Kenji Mori\n---\n# Lantern\n\nSongs.\n",
            "打ち合わせ.md": (
                "---\ncreated: 2025-04-02\n出席者: [田中 悠, 佐藤]\n---\n# 打ち合わせ\n\n色。\n"
            ),
            "散歩.md": "# 散歩\n\n## 2025年5月3日 佐藤と\n\n晴れ。\n",
        }
        assert rag("index", "-q", write_notes("met", notes)).code == 0
        for question, day, quoted in [
            ("When did I last meet Kenji?", "11 June 2025", "2025-06-11 with Kenji [1]"),
            (
                "When did I last see Ana?",
                "2 March 2025",
                "Planning · attendees: Kenji Mori, Ana [1]",
            ),
            ("When did I last talk to Mika?", "30 June 2025", "2025-06-30 mika [1]"),
            (
                "最後に田中さんに会ったのはいつ？",
                "2025年4月2日",
                "打ち合わせ · 出席者: 田中 悠, 佐藤 [1]",
            ),
            ("最後に佐藤さんと話したのはいつ？", "2025年5月3日", "2025年5月3日 佐藤と [1]"),
        ]:
            said = [line.strip() for line in rag("ask", question).out.split("\n")]
            assert said[:2] == [day, quoted], question

    def test_a_last_date_is_said_with_the_sentence_and_its_source(self, rag, vault):
        ran = rag("ask", "when did I last meet Tanaka?", "--to", "2025")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.splitlines() == [
            *("3 November 2025", "  Met Tanaka. [1]", "", "[1] 2025-11-03  life/2025-11-03.md:3")
        ]


class TestChat:
    def test_follow_ups_keep_the_subject(self, rag, vault, typed):
        turns = chat(rag, typed, "when did I last meet Tanaka?", "and the one before?")
        assert [turn["notes"]["date"] for turn in turns] == [str(WEEK_AGO), "2025-11-03"]
        assert turns[1]["asked"] == f"when did I last meet Tanaka before {WEEK_AGO}"

    def test_words_filter_and_a_question_that_goes_on_keeps_the_time(self, rag, vault, typed):
        first, second = chat(rag, typed, "what did I decide about the ferry last week?", "and why?")
        windows = [turn["plan"]["metadata"]["time_window"]["first"] for turn in (first, second)]
        assert windows[0] == windows[1] and windows[0] <= str(WEEK_AGO)
        assert {one["path"] for one in second["sources"]} <= {f"{WEEK_AGO}.md"}
