"""Where sentences end."""

from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.vault.sentences import sentence_spans
from tables import rows


def sentences(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in sentence_spans(text)]


@rows(
    "text, expected",
    ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
    ("一つ。二つ！三つ？四つ", ["一つ。", "二つ！", "三つ？", "四つ"]),
    ("本当！？はい。", ["本当！？", "はい。"]),
    ("「行く。」と言う。", ["「行く。」", "と言う。"]),
    ('He said "yes." She left.', ['He said "yes."', "She left."]),
    ("日本語です。English too. 終わり", ["日本語です。", "English too.", "終わり"]),
    ("- item\n- 項目\n# Heading", ["- item", "- 項目", "# Heading"]),
)
def test_sentences_end_at_stops_of_both_languages_and_at_line_ends(text, expected):
    assert sentences(text) == expected


@rows(
    "text",
    *("See e.g. the manual", "Dr. Smith met J. Doe", "about 3.14 or v1.2.3"),
    *("rag.vault and example.org", "1. first item", "etc. and so on"),
    *("Die Frist ist der 31. Juli 2027", "Bis zum 1. März gilt der Rabatt"),
    *("am 31. 7. 2027 um zehn Uhr", "Abgabe 3. Dez. 2027, per Post"),
    *("Reçu le 3 févr. 2027 par courrier", "Due Jan. 5, by post", "On 12. May 2027 we moved"),
)
def test_dots_that_end_no_sentence(text):
    assert sentences(text) == [text]


@rows("text", "Es kostet 31. Danach mehr.", "Take 12. May I?", "It ended in 1999. July was hot.")
def test_a_number_before_no_month_ends_one(text):
    assert len(sentences(text)) == 2


def test_a_very_long_run_of_blank_lines_is_taken_at_once():
    # Quadratic, this would take hours.
    assert [*sentence_spans("a\n" + "\n \n" * 500_000 + "b")] == [
        (0, 1_500_002),
        (1_500_002, 1_500_003),
    ]


@settings(max_examples=examples(400))
@given(st.text(st.one_of(st.sampled_from('.。!？」" \n\u3000aあ1'), st.characters()), max_size=60))
def test_the_spans_cover_the_text_without_gaps_or_overlaps(text):
    spans = [*sentence_spans(text)]
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end for start, end in spans)
    assert not text.strip() or all(text[start:end].strip() for start, end in spans)
