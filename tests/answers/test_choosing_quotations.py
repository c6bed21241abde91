"""Which units of notes answer a question."""

from rag.answers.quotation.question import Question
from rag.answers.quotation.selection import Choice, Passage, choose, ranked_units
from rag.vault.sentences import sentence_units


def question(text: str) -> Question:
    return Question(text, lambda dimension: 2.0)


def passages(*contents: str) -> list[Passage]:
    return [Passage("Note", content, rank) for rank, content in enumerate(contents, 1)]


def chosen(text: str, *contents: str, most: int = 3) -> list[Choice]:
    return [alike[0] for alike in choose(question(text), passages(*contents), most)[0]]


def test_the_unit_that_holds_the_words_comes_first():
    found = chosen("How long do we keep backups?", "Holds expire.\n\nWe keep backups for 90 days.")
    assert found[0].unit.text == "We keep backups for 90 days."


def test_a_japanese_unit_is_found_by_its_words():
    found = chosen("冷蔵庫の修理はいくら？", "花見は雨。\n\n冷蔵庫の修理は38,500円で済んだ。")
    assert found[0].unit.text == "冷蔵庫の修理は38,500円で済んだ。"


def test_a_unit_with_the_kind_of_answer_goes_before_one_without():
    text = "The roof was painted by Joss.\n\nThe roof was painted on 3 May."
    assert chosen("When was the roof painted?", text)[0].unit.text.endswith("3 May.")
    assert chosen("Who painted the roof?", text)[0].unit.text.endswith("Joss.")


def test_a_question_on_what_no_note_holds_finds_nothing():
    found, confidence = choose(
        question("What is the capital of Mongolia?"), passages("We keep backups."), 3
    )
    assert found == [] and confidence < 0.3


def test_a_unit_within_the_first_is_not_quoted_again():
    found = chosen("What do I need for the dal?", "For the dal you need:\n- salt\n- water")
    assert [one.unit.text for one in found] == ["For the dal you need:\n- salt\n- water"]


def test_what_says_the_same_is_quoted_once():
    same = "We keep backups for ninety days."
    assert len(chosen("How long do we keep backups?", same, same)) == 1


def test_what_is_said_of_another_number_is_no_further_quotation():
    pumps = [f"The zephyr pump number {n} holds {40 + n} litres." for n in (3, 11, 12)]
    found = chosen("How many litres does zephyr pump 3 hold?", *pumps)
    assert [one.unit.text for one in found] == pumps[:1]


def test_no_more_are_quoted_than_wanted():
    texts = [f"Backups are kept in the {place} room." for place in ("red", "blue", "green")]
    assert len(chosen("Where are backups kept?", *texts, most=1)) == 1


def test_the_nearest_sentence_in_meaning_tells_where_words_do_not():
    content = "It rains in the hills during the long nights of winter. " * 2
    content += "\n\nThe vessel was purchased from Hester Amory in the summer of that year."
    units = sentence_units(content)
    near = [3.0 if "Hester" in unit.text else 0.0 for unit in units]
    passage = Passage("Note", content, 1, sentences=units, nearness=near, near=3.0)
    best = ranked_units(question("Who owned my boat?"), [passage])[0]
    assert "Hester" in best.unit.text


def test_notes_that_say_the_same_are_named_with_the_first():
    found, _ = choose(
        question("How long do we keep backups?"),
        passages(
            "We keep backups for 90 days.",
            "All backups: we keep them 90 days.",
            "We keep backups for 30 days.",
        ),
        3,
    )
    assert [other.passage for other in found[0][1:]] == [1]
    assert [alike[0].passage for alike in found] == [0, 2]
