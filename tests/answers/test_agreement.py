"""Whether a source says what a sentence says: one rule a class, in English and Japanese."""

from rag.answers.agreement import Doubt, context_of, doubt
from rag.answers.claims import source_clauses
from tables import rows


def why(source: str, said: str, question: str = "", title: str = "Note") -> Doubt:
    """Return why a source does not bear a sentence out."""
    return doubt(said, [source_clauses(title, source)], context_of(question, answered=not question))


@rows(
    "source, said, expected",
    ("The pass lasts 5 days.", "The pass lasts 5 hours.", "number"),
    ("A ticket costs 9 euros.", "A ticket costs 8 euros.", "number"),
    ("The pass lasts 5 days.", "The pass lasts five days.", ""),
    ("The tea steeps for 90 minutes.", "The tea steeps for 1.5 hours.", ""),
    ("券は5日間有効だ。", "券は5時間有効です。", "number"),
    ("切符は900円だ。", "切符は800円です。", "number"),
    ("会費は千円だ。", "会費は1,000円です。", ""),
)
def test_numbers_agree_with_their_units(source, said, expected):
    assert why(source, said) == expected


@rows(
    "source, said, expected",
    ("Pets are not allowed in the flat.", "Pets are allowed in the flat.", "negation"),
    ("Pets are not allowed in the flat.", "You cannot keep pets in the flat.", ""),
    ("The red pump runs; the blue pump does not.", "The blue pump runs.", "negation"),
    ("The red pump runs; the blue pump does not.", "The red pump runs.", ""),
    ("Photos are taken without glasses.", "Photos are taken with glasses.", "negation"),
    ("The rent is 640 euros without heating.", "The rent does not include heating.", ""),
    ("部屋でペットは飼えない。", "部屋でペットは飼えます。", "negation"),
    ("部屋でペットは飼えない。", "部屋でペットを飼うことはできません。", ""),
    ("赤い機械は動くが、青い機械は動かない。", "青い機械は動きます。", "negation"),
    ("見学は予約なしでできる。", "見学には予約が必要です。", "negation"),
)
def test_no_is_not_yes(source, said, expected):
    assert why(source, said) == expected


@rows(
    "said, question, expected",
    ("No, pets are not allowed.", "Are pets allowed?", ""),
    ("Yes, pets are prohibited.", "Are pets prohibited?", ""),
)
def test_yes_and_no_go_with_what_follows(said, question, expected):
    assert why("Pets are not allowed.", said, question) == expected


@rows(
    "source, said, expected",
    ("The oak is taller than the elm.", "The elm is taller than the oak.", "comparison"),
    ("The oak is taller than the elm.", "The oak is taller than the elm.", ""),
    ("The oak has more leaves than the elm.", "The elm has fewer leaves than the oak.", ""),
    ("They chose Rust over Go.", "They chose Go over Rust.", "comparison"),
    ("They chose Rust over Go.", "They chose Rust instead of Go.", ""),
    ("The elm is a tall tree.", "The elm is the tallest tree.", "comparison"),
    ("樫は楡より重い。", "楡は樫より重い。", "comparison"),
    ("樫は楡より重い。", "樫は楡より軽い。", "comparison"),
    ("樫は楡より重い。", "樫のほうが楡より重い。", ""),
    ("銅ではなく鉄を選んだ。", "鉄ではなく銅を選びました。", "comparison"),
)
def test_comparisons_are_not_turned_round(source, said, expected):
    assert why(source, said) == expected


TEAM = "Amara leads the migration, Jonas writes the tests."
チーム = "移行は佐伯さん、テストは小野さんが受け持つ。"
FERRIES = "| Route | Fare |\n|---|---|\n| Lindholm | 9 euros |\n| Skarvik | 24 euros |"


@rows(
    "source, said, expected",
    (TEAM, "Jonas leads the migration.", "belonging"),
    (TEAM, "Amara leads the migration.", ""),
    (TEAM, "Jonas writes the tests, and Amara leads the migration.", ""),
    (FERRIES, "The fare to Skarvik is 9 euros.", "number"),
    (FERRIES, "The fare to Skarvik is 24 euros.", ""),
    (チーム, "移行は小野さんが受け持ちます。", "belonging"),
    (チーム, "移行は佐伯さんの担当です。", ""),
    ("大崎は2時間、青島は40分かかる。", "青島は2時間かかります。", "belonging"),
)
def test_names_and_numbers_stay_with_what_they_belong_to(source, said, expected):
    assert why(source, said) == expected


@rows(
    "sentence",
    "It opens at 6, at 7, at 8 or at 9, not at 10 and never without a key, then it closes.",
    "「鍵」、「錠」、「鍵なし」、または単に「鍵束」などと呼ばれ、呼ばれないこともある。",
)
def test_a_sentence_of_the_source_is_borne_out_as_it_is(sentence):
    assert why(f"First of all. {sentence} That is all.", sentence) == ""


@rows(
    "source, said, expected",
    ("The date was moved from 15 April to 2 May.", "The date is 15 April.", "outdated"),
    ("The date was moved from 15 April to 2 May.", "The date is 2 May.", ""),
    ("締め切りは4月15日から5月2日に変わった。", "締め切りは4月15日です。", "outdated"),
    ("締め切りは4月15日から5月2日に変わった。", "締め切りは5月2日です。", ""),
)
def test_what_was_changed_is_said_as_it_is_now(source, said, expected):
    assert why(source, said) == expected


@rows(
    "source, said, question, expected",
    (
        "The rent is 640 euros. The deposit is 900 euros.",
        "The rent is 640 euros.",
        "How much is the deposit?",
        "question",
    ),
    (
        "The rent is 640 euros. The deposit is 900 euros.",
        "The deposit is 900 euros.",
        "How much is the deposit?",
        "",
    ),
    ("The deposit is due at once. It is 900 euros.", "It is 900 euros.", "The deposit?", ""),
    ("家賃は6万円。敷金は9万円。", "家賃は6万円です。", "敷金はいくらですか?", "question"),
    ("家賃は6万円。敷金は9万円。", "敷金は9万円です。", "敷金はいくらですか?", ""),
)
def test_the_first_sentence_answers_what_was_asked(source, said, question, expected):
    assert why(source, said, question) == expected


@rows(
    "source, said",
    ("The market opens at 8.", "The market is bankrupt and abolished."),
    ("朝市は8時に始まる。", "朝市は廃止されました。"),
)
def test_what_a_source_does_not_speak_of_it_does_not_say(source, said):
    assert why(source, said) == "unsaid"
