"""Questions for quotation answers: their counts, halves and lines, and how answers are judged."""

import sys
from pathlib import Path

import pytest

from tables import rows

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from answers import (
    QUESTIONS,
    VAULTS,
    Asked,
    Place,
    Question,
    Quotation,
    ask,
    calibration_error,
    folder_of,
    is_right,
    rates,
    read_set,
)

SET = read_set()
SECOND_SET = read_set(QUESTIONS / "second-answers.jsonl")
FRONT_MATTER = QUESTIONS / "front-matter.jsonl"
ANSWERABLE = [question for question in [*SET, *SECOND_SET] if question.answers]


@pytest.fixture(
    params=[
        pytest.param(name, marks=[pytest.mark.shared] if name.startswith("obsidian-help") else [])
        for name in VAULTS
    ]
)
def vault(request) -> str:
    """A vault of the set; skipped where it is not there."""
    name: str = request.param
    if not folder_of(name).is_dir():
        pytest.skip(f"the vault {name} is not in ../shared/data/vaults")
    return name


def test_an_answer_is_in_the_vault_that_is_asked_and_says_what_a_quotation_must_hold():
    for question in ANSWERABLE:
        for place in question.answers:
            assert place.path.startswith(f"{question.vault}/"), question.id
            assert place.must, question.id
            assert all(key.strip() and len(key) <= 60 for key in place.must), question.id


def test_the_lines_of_an_answer_exist_and_hold_what_a_quotation_must_hold(vault):
    for question in ANSWERABLE:
        if question.vault == vault:
            for place in question.answers:
                first, last = place.lines
                lines = (folder_of(vault).parent / place.path).read_text("utf-8").split("\n")
                assert 1 <= first <= last <= len(lines), question.id
                quoted = "\n".join(lines[first - 1 : last])
                assert [key for key in place.must if key not in quoted] == [], question.id


# -- what answers.py makes of answers ------------------------------------------------------

ROW = Place("v/a.md", (3, 5), ("Tandem", "£42"))
PRICE = Question("q", "What is a tandem?", "en", "v", "table", "tune", (ROW,))
NOTHING = Question("n", "Who is Leopold?", "en", "v", "name", "tune", ())


@rows(
    "quotation, right",
    (Quotation("v/a.md", 5, "Tandem, full day: £42"), True),
    (Quotation("v/a.md", 1, "The prices:\n\nTandem, full day: £42"), True),
    (Quotation("v/a.md", 5, "Tandem, full day"), False),
    (Quotation("v/a.md", 6, "Tandem, full day: £42"), False),
    (Quotation("v/a.md", 2, "Tandem, full day: £42"), False),
    (Quotation("v/b.md", 5, "Tandem, full day: £42"), False),
)
def test_a_quotation_is_right_when_it_is_of_the_lines_and_holds_all_it_must(quotation, right):
    assert is_right(PRICE, quotation) is right


def test_the_rates_tell_right_answers_from_wrong_ones_and_refusals():
    wrong, right = Quotation("v/a.md", 1, "Tandem"), Quotation("v/a.md", 5, "Tandem £42")
    asked = [
        Asked(PRICE, (right,), 1.0),
        Asked(PRICE, (wrong, wrong, right), 0.5),
        Asked(PRICE, (wrong, wrong, wrong, right), 0.5),
        Asked(PRICE, (), 0.9),
        Asked(NOTHING, (wrong,), 0.0),
        Asked(NOTHING, (), 0.9),
    ]
    assert rates(asked) == pytest.approx((0.25, 0.5, 0.5, 0.25, 2 * 0.5 / 4))


def test_confidence_that_is_as_often_right_as_it_says_has_no_calibration_error():
    assert calibration_error([(0.75, True), (0.75, True), (0.75, True), (0.75, False)]) == 0
    assert calibration_error([(1.0, False), (0.0, False)]) == 0.5
    assert calibration_error([]) == 0


def test_the_lines_of_front_matter_questions_hold_what_a_right_answer_holds():
    for question in read_set(FRONT_MATTER):
        for place in question.answers:
            first, last = place.lines
            lines = (folder_of(question.vault).parent / place.path).read_text("utf-8").split("\n")
            quoted = "\n".join([place.path, *lines[first - 1 : last]])
            assert [key for key in place.must if key not in quoted] == [], question.id


def test_a_vault_is_asked_its_own_questions_and_quotes_its_own_notes():
    own = [one for one in SET if one.vault == "wharf-notes"][:6]
    asked = list(ask("wharf-notes", None, [SET[0], *own]))
    assert [one.question for one in asked] == own
    quoted = [quotation for one in asked for quotation in one.quotations]
    assert quoted
    assert all((folder_of("wharf-notes").parent / one.path).is_file() for one in quoted)
