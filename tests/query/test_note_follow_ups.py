"""Questions that go on from one about the notes themselves."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from rag.query.note_questions import followed_up, note_question
from tables import rows

DAY = date(2026, 11, 17)
MET = "When did I last meet Ann?"
MET_JA = "最後に田中さんに会ったのはいつ？"


@rows(
    "question, before, found",
    ("and the one before?", MET, "When did I last meet Ann before 2026-11-17"),
    (
        "and before that?",
        "When did I last meet Ann before 2026-12-01",
        "When did I last meet Ann before 2026-11-17",
    ),
    (
        "and the one before?",
        "When did I last meet 田中太郎さん?",
        "When did I last meet 田中太郎さん before 2026-11-17",
    ),
    ("その前は？", MET_JA, "私が2026-11-17より前に最後に田中さんに会ったのはいつ"),
)
def test_after_a_last_date_an_earlier_one_is_asked_for_or_what_was_then(question, before, found):
    assert followed_up(question, before, DAY) == found


@rows(
    "question, before, found",
    ("how many are there?", "list all notes about the ferry", "how many notes about the ferry"),
    ("how many?", "which notes are tagged ops", "how many notes are tagged ops"),
    ("which ones?", "how many notes mention Ann?", "which notes mention Ann"),
    ("list them", "how many notes do I have on Rome", "which notes do I have on Rome"),
    ("いくつ？", "フェリーについてのノートを全部", "フェリーのノートはいくつ"),
    ("どれですか？", "フェリーのノートはいくつ", "フェリーのノートを全部"),
)
def test_a_list_is_counted_and_what_was_counted_is_listed(question, before, found):
    assert followed_up(question, before) == found


@rows(
    "question, before, found",
    (
        "and from last month?",
        "how many notes mention the ferry?",
        "how many notes mention the ferry from last month",
    ),
    (
        "what about this month?",
        "how many notes are from last month",
        "how many notes are this month",
    ),
    ("and about Ann?", "how many notes mention Bob", "how many notes about Ann"),
    ("and tagged ops?", "list my notes about deploys", "list my notes about deploys tagged ops"),
    ("and not Bob?", "how many notes mention Ann", "how many notes mention Ann and not Bob"),
    ("先月は？", "フェリーのノートはいくつ", "先月のフェリーのノートはいくつ"),
)
def test_a_condition_is_added_or_takes_the_place_of_its_kind(question, before, found):
    assert followed_up(question, before) == found
    assert note_question(found)


@rows(
    "question, before",
    ("and the one before?", "How long do we keep backups?"),
    ("who was there?", "how many notes mention Ann?"),
    ("why?", "list all notes about the ferry"),
    ("What is a Pod?", MET),
    ("When do holds expire?", "list all notes about the ferry"),
    ("and how do I make sourdough bread?", "list all notes about the ferry"),
    ("what about what she said?", "how many notes mention Ann?"),
    ("and tell me about bread", "list all notes about the ferry"),
    ("thanks", "list all notes about the ferry"),
    ("and 👍", "how many notes mention Ann?"),
    ("だれが乗った？", "フェリーのノートはいくつ"),
    ("どうやって作る？", "フェリーのノートはいくつ"),
)
def test_any_other_question_does_not_go_on_from_it(question, before):
    assert followed_up(question, before, DAY) == ""


@given(st.text(max_size=80), st.sampled_from([MET, MET_JA, "list all notes", "ノートはいくつ"]))
def test_any_question_is_read(question, before):
    followed_up(question, before, DAY)
