"""The day of a passage, and whether what it tells of has happened."""

from datetime import date

from rag.qa.note_questions import day_in, day_of, has_happened
from rag.text.tokenizer import normalize
from tables import rows


@rows(
    "text, year, day",
    ("2026-11-18", None, date(2026, 11, 18)),
    ("2026/11/8", None, date(2026, 11, 8)),
    ("２０２６年１１月１８日", None, date(2026, 11, 18)),
    ("Tuesday, 17 November 2026", None, date(2026, 11, 17)),
    ("Nov. 3rd, 2026", None, date(2026, 11, 3)),
    ("the 3rd of May 2026", None, date(2026, 5, 3)),
    ("November 3", 2025, date(2025, 11, 3)),
    ("bis 31. Juli 2027", None, date(2027, 7, 31)),
    ("le 1er février 2027", None, date(2027, 2, 1)),
    ("el 31 de julio de 2027", None, date(2027, 7, 31)),
    ("11月3日の会議", 2026, date(2026, 11, 3)),
    ("11月3日の会議", None, None),
    ("2026-02-30", None, None),
    ("November 2026", None, None),
    ("2026-11", None, None),
    ("version 1.2026-11-18", None, None),
    ("no day at all", 2026, None),
    ("Marked 3 exams", 2026, None),
    ("Mayor 3 came", 2026, None),
    ("Sept 3", 2026, date(2026, 9, 3)),
)
def test_a_day_is_read_where_a_text_names_one(text, year, day):
    assert day_in(text, year) == day


@rows(
    "text, headings, created, day, by",
    ("Met her.", [], "2026-11-17T00:00:00", date(2026, 11, 17), "note"),
    ("Met her.", ["Log", "2026-11-03"], "2025-01-01", date(2026, 11, 3), "heading"),
    ("Met her.", ["2026-11-03", "5 November"], "2026-01-01", date(2026, 11, 5), "heading"),
    ("Met her.", ["2026-11-17"], "2026-11-17", date(2026, 11, 17), "note"),
    ("2026-10-02: met her.", ["2026-11-03"], "", date(2026, 10, 2), "line"),
    ("Met her on 2026-10-02.", [], "2026-11-03", date(2026, 10, 2), "line"),
    ("Met her on 2 October.", [], "2026-11-03", date(2026, 11, 3), "note"),
)
def test_a_line_says_its_day_before_a_heading_and_that_before_the_note(
    text, headings, created, day, by
):
    assert day_of(text, headings, created) == (day, by)


def happened(text: str, word: str, line: str = "") -> bool:
    return has_happened(text, line or text, [normalize(text).find(word)])


@rows(
    "text, word",
    ("Met Tanaka at the harbour.", "met"),
    ("I went to the dentist.", "dentist"),
    ("Flew to Lisbon.", "lisbon"),
    ("Then we drove home and talked to Sarah.", "sarah"),
    ("In May met Tanaka.", "met"),
    ("I remembered to call Priya.", "call"),
    ("We should go home, but met Tanaka.", "met"),
    ("Met Tanaka; will write tomorrow.", "met"),
    ("田中さんに会った。", "会"),
    ("だいたい交換した。", "交換"),
)
def test_what_was_done_has_happened(text, word):
    assert happened(text, word)


@rows(
    "text, word",
    ("We should meet Tanaka.", "meet"),
    ("To meet Tanaka, ring first.", "meet"),
    ("Wanted to meet Tanaka.", "meet"),
    ("We may meet Tanaka.", "meet"),
    ("I did not meet Tanaka.", "meet"),
    ("Couldn't even meet Tanaka.", "meet"),
    ("Meet Tanaka next week.", "meet"),
    ("Meeting with Tanaka cancelled.", "meeting"),
    ("田中さんに会えなかった。", "会"),
    ("来週、田中さんに会う予定。", "会"),
    ("田中さんに会いたい。", "会"),
)
def test_what_was_not_done_or_is_to_come_has_not(text, word):
    assert not happened(text, word)
