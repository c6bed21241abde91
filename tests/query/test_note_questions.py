"""Questions about the notes themselves: what is one, what is none, and what is left of it."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from rag.query.note_questions import Asked, note_question, subject_of
from rag.query.planner.words import may_ask_of_notes
from tables import rows

TODAY = date(2026, 11, 23)
LIST, COUNT, LAST = Asked.LIST, Asked.COUNT, Asked.LAST


@rows(
    "question, asked, subject",
    ("list all notes about the ferry", LIST, "the ferry"),
    ("which notes mention Tanaka", LIST, "Tanaka"),
    ("all my notes on Rome", LIST, "Rome"),
    ("which notes contain the word ferry", LIST, "ferry"),
    ("show me all notes", LIST, ""),
    ("how many notes mention the ferry", COUNT, "the ferry"),
    ("How many notes about the ferry do I have?", COUNT, "the ferry"),
    ("how many notes do I have on Rome?", COUNT, "Rome"),
    ("how many notes are there?", COUNT, ""),
    ("how many diary entries mention Tanaka", COUNT, "Tanaka"),
    ("when did I last meet Tanaka?", LAST, "meet Tanaka"),
    ("When did we last change the filter", LAST, "change the filter"),
    ("when did I change the filter last?", LAST, "change the filter"),
    ("when was the last time I went to the dentist", LAST, "went to the dentist"),
    ("when was my last dentist appointment", LAST, "dentist appointment"),
    ("When did I last write about the ferry?", LAST, "the ferry"),
    ("how many notes mention Dr. Brandt?", COUNT, "Dr. Brandt"),
    ("list all notes about St. Ives vs. Falmouth", LIST, "St. Ives vs. Falmouth"),
    ("list all notes that do not mention Sarah", LIST, "-Sarah"),
    ("which notes don't mention the ferry or Tom Jones?", LIST, '-ferry -"Tom Jones"'),
    ("how many notes are not about sailing", COUNT, "-sailing"),
    ("how many notes mention Sarah and do not mention Tom?", COUNT, "Sarah -Tom"),
    ("how many notes about Sarah but not Tom do I have?", COUNT, "Sarah -Tom"),
    ("フェリーについてのノートを全部", LIST, "フェリー"),
    ("フェリーについてのノートを一覧にしてください", LIST, "フェリー"),
    ("どのノートがフェリーに触れている", LIST, "フェリー"),
    ("フェリーのノートはいくつ", COUNT, "フェリー"),
    ("フェリーについてのノートは何件ありますか？", COUNT, "フェリー"),
    ("ノートはいくつありますか", COUNT, ""),
    ("最後に田中さんに会ったのはいつ", LAST, "田中さんに会った"),
    ("田中さんに最後に会ったのはいつですか？", LAST, "田中さんに会った"),
    ("前回フィルターを交換したのはいつだっけ", LAST, "フィルターを交換した"),
    ("最後にフェリーについて書いたのはいつ", LAST, "フェリー"),
)
def test_it_is_told_from_its_words(question, asked, subject):
    assert may_ask_of_notes(question)
    assert note_question(question, TODAY) == (asked, subject)


@rows(
    "question, asked",
    ("which notes are tagged runbook", LIST),
    ("show me all notes from last week", LIST),
    ("which notes did I write in March", LIST),
    ("which notes are in my work vault", LIST),
    ("how many of my notes are tagged ops", COUNT),
    ("how many notes are in my work vault", COUNT),
    ("how many notes with status draft", COUNT),
    ("which notes did I edit today?", LIST),
    ("how many notes did we change last week?", COUNT),
    ("how many notes not tagged ops", COUNT),
    ("opsタグのないノートはいくつ", COUNT),
    ("議事録タグのノートを全部見せて", LIST),
    ("先月のノートはいくつ", COUNT),
    ("runbookタグの付いたノートは何件", COUNT),
)
def test_filters_choose_notes_too(question, asked):
    found = note_question(question, TODAY)
    assert may_ask_of_notes(question)
    assert found and found.asked == asked


@rows(
    "question",
    "how many notes fit in a bar of music",
    "how many notes are there on a piano",
    "how many notes can Obsidian handle",
    "how many notes does the free plan allow?",
    "how many quarter notes are in a bar",
    "list all keyboard shortcuts",
    "list all notes that link to the index",
    "how do I list all notes tagged ops?",
    "which notes are in a C major chord",
    "which note is the longest",
    "which notes do not mention sails and boats",
    "how many notes without tags?",
    "how many notes from last month have no tags",
    "how many notes are not tagged",
    "list all notes without a title",
    "which notes did I edit?",
    "which notes did I change about the ferry",
    "タグのないノートはいくつ",
    "先月のタグのないノートはいくつ",
    "タグが付いていないノートを全部",
    "タグなしのノートはいくつ",
    "タグの付いたノートはいくつ",
    "what are release notes",
    "who wrote the release notes",
    "find the note about the ferry",
    "show note titles inline",
    "all notes are equal",
    "when did Rome last fall",
    "when did I last meet Sarah or Tom",
    "When did Rome last win the cup?",
    "when was the last ice age",
    "what was the last decision about the ferry",
    "when did I last year go to Rome",
    "when did I last meet Tanaka? And where was it?",
    "list my notes on Rome. Which is the best?",
    "how many notes mention Rome. And Dr. Brandt",
    "What did I decide about the ferry last week?",
    "last time",
    "リスト内包表記とは",
    "ノートは1オクターブにいくつありますか",
    "ノートパソコンはいくつ",
    "すべてのノートを削除するには",
    "メモリはいくつ必要ですか",
    "最後にローマが戦ったのはいつ",
    "最後の氷河期はいつ",
    "田中さんは最後に何を言った",
    "",
    "?",
)
def test_what_asks_for_what_notes_say_is_none(question):
    assert note_question(question, TODAY) is None


@rows(
    "left, subject",
    ("how many notes mention the ferry", "the ferry"),
    ("which notes do I have about", ""),
    ("the ferry", "the ferry"),
    ("when did I last change the filter", "change the filter"),
    ("how many notes mention the ferry -Tom", "the ferry -Tom"),
    ("フェリーについての", "フェリー"),
    ("フェリーはいくつ", "フェリー"),
    ("いくつ", ""),
    ("全部見せて", ""),
)
def test_of_what_is_left_of_a_planned_question_the_subject_is_told(left, subject):
    assert subject_of(left) == subject


@given(st.text(max_size=320))
def test_any_text_is_read(text):
    found = note_question(text, TODAY)
    assert found is None or found.subject == found.subject.strip()
