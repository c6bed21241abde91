"""How texts are cut into clauses, and what each holds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rag.answers.clauses import said_clauses, source_clauses
from tables import rows


def texts(sentence: str) -> list[str]:
    """Return the clauses of a sentence as texts."""
    return [clause.text.strip(" ,、。.") for clause in said_clauses(sentence)]


@rows(
    "sentence, clauses",
    [
        (
            "Amara leads the move, Jonas writes tests.",
            ["amara leads the move", "jonas writes tests"],
        ),
        ("It weighs 5 kg and costs 9 euros.", ["it weighs 5 kg and", "costs 9 euros"]),
        ("Dogs and cats are not allowed.", ["dogs and cats are not allowed"]),
        ("On weekdays, the pool opens at 7.", ["on weekdays, the pool opens at 7"]),
        ("指揮は高瀬さん、伴奏は三浦さん。", ["指揮は高瀬さん", "伴奏は三浦さん"]),
        ("平日は、9時に開く。", ["平日は、9時に開く"]),
        ("X3は防滴だが、X2は防滴ではない。", ["x3は防滴だが", "x2は防滴ではない"]),
    ],
)
def test_each_says_something_by_itself(sentence: str, clauses: list[str]) -> None:
    assert texts(sentence) == clauses


def test_a_cell_stands_with_its_row_and_under_its_head() -> None:
    table = "| Route | Fare |\n|---|---|\n| Lindholm | 9 euros |\n| Skarvik | 24 euros |"
    cells = {clause.text: clause for clause in source_clauses("Ferries", table)}
    assert set(cells) == {"lindholm", "lindholm 9 euros", "skarvik", "skarvik 24 euros"}
    assert "fare" in cells["skarvik 24 euros"].terms
    assert cells["skarvik 24 euros"].around == {"skarvik", "euro"}


@given(st.text(max_size=200))
def test_any_text_is_cut_and_nothing_of_it_lost(text: str) -> None:
    for clause in source_clauses("", text):
        assert clause.text in clause.whole or "|" in text
