"""What kind of answer a question asks for."""

from rag.answers.quotation.question import Asked, counted_in, defines, kind_of, told_of
from rag.answers.quotation.selection import counts, fits
from rag.answers.quotation.units import Kind, QuotableUnit
from tables import rows


def sentence(text: str) -> QuotableUnit:
    return QuotableUnit(0, 0, text, Kind.SENTENCE)


@rows(
    "question, asked",
    ("Who is on call?", Asked.WHO),
    ("当番はだれ？", Asked.WHO),
    ("When do holds expire?", Asked.WHEN),
    ("期限はいつ？", Asked.WHEN),
    ("Wann ist die Frist?", Asked.WHEN),
    ("¿Cuándo vence?", Asked.WHEN),
    ("How many bikes are there?", Asked.HOW_MANY),
    ("自転車は何台ある？", Asked.HOW_MANY),
    ("How big may a file be?", Asked.HOW_MUCH),
    ("どのくらい保存できる？", Asked.HOW_MUCH),
    ("How much does it cost?", Asked.PRICE),
    ("一杯いくら？", Asked.PRICE),
    ("Where is the key?", Asked.WHERE),
    ("鍵はどこ？", Asked.WHERE),
    ("How do I restart it?", Asked.HOW_TO),
    ("チェーンを替える方法", Asked.HOW_TO),
    ("Why is it closed?", Asked.WHY),
    ("閉めたのはなぜ？", Asked.WHY),
    ("What is a hold?", Asked.WHAT_IS),
    ("エイリアスとは", Asked.WHAT_IS),
    ("Which plan is free?", Asked.WHICH),
    ("無料のはどれ？", Asked.WHICH),
    ("Can I park there?", Asked.YES_NO),
    ("ここに停められますか", Asked.YES_NO),
    ("名前は何ですか", Asked.NAME),
    ("豆の産地は何ですか", Asked.WHICH),
    ("何年に開店しましたか", Asked.WHEN),
    ("開店して何年間ですか", Asked.HOW_MANY),
    ("In which year did it open?", Asked.WHEN),
    ("What is the reason for the delay?", Asked.WHY),
    ("backups", Asked.OTHER),
)
def test_the_words_of_a_question_tell_what_it_asks_for(question, asked):
    assert kind_of(question) == asked


@rows(
    "asked, text, other",
    (Asked.WHEN, "Born on 4 February 1934.", "Born at home."),
    (Asked.WHEN, "4月1日から。", "店の中で。"),
    (Asked.WHEN, "Bis zum 31. Juli.", "Bis zum Park."),
    (Asked.WHEN, "Avant le 1er août.", "Avant la gare."),
    (Asked.WHEN, "更新を三月に行う。", "更新を行う。"),
    (Asked.HOW_MANY, "It has 42 seats.", "It has seats."),
    (Asked.HOW_MUCH, "We keep them for ninety days.", "We keep them for days."),
    (Asked.PRICE, "It was £24.", "It was 24."),
    (Asked.PRICE, "38,500円で済んだ。", "すぐ済んだ。"),
)
def test_a_unit_holds_such_a_thing_or_not(asked, text, other):
    assert (fits(asked, text, text), fits(asked, other, other)) == (1.0, -1.0)


@rows(
    "question, text, other",
    ("How many seats are there?", "It has 42 good seats.", "It has 42 rows and a few seats."),
    ("自転車は何台ある？", "自転車は12台。", "自転車は12年前に買った。"),
    ("会は何人で始めた？", "二人で始めた。", "4月に始めた。"),
)
def test_a_number_of_what_is_counted_is_seen(question, text, other):
    counted = counted_in(question)
    assert (counts(counted, text), counts(counted, other)) == (1.0, -1.0)


@rows(
    "question, text",
    ("What is Larkspur?", "Larkspur is our booking system."),
    ("What is a ghost booking?", "Ghost booking: the customer never comes."),
    ("帳場とは何ですか", "帳場は自作のプログラム。"),
)
def test_a_definition_begins_with_its_subject(question, text):
    assert defines(question, sentence(text))
    assert not defines(question, sentence(f"We use it. {text}"))


@rows(
    "question, told",
    ("What is the password of the router?", "password"),
    ("What is Anselm's phone number?", "phone number"),
    ("ルーターのパスワードは？", "パスワード"),
    ("backups", ""),
)
def test_what_is_to_be_told_of_the_subject_is_seen(question, told):
    assert told_of(question) == told
