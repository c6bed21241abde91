"""How much of a query is read: its length, its marks, and so many conditions of a kind."""

import pytest

from rag.exceptions import QueryError
from rag.query.syntax import (
    MAX_LENGTH,
    MOST_BEGINNINGS,
    MOST_EXCLUDED,
    MOST_FIELDS,
    MOST_PHRASES,
    bounded,
    parse_query,
)

ACUTE, BELOW = "\u0301", "\u0316"


class TestBounded:
    def test_marks_that_no_language_piles_up_are_left_out(self):
        assert bounded("a" + (ACUTE + BELOW) * 1_000 + "b") == "a" + (ACUTE + BELOW) * 15 + "b"

    def test_a_query_that_is_too_long_is_refused(self):
        assert bounded("x" * MAX_LENGTH)
        with pytest.raises(QueryError, match="4,001 characters, more than 4,000"):
            bounded("x" * (MAX_LENGTH + 1))

    def test_a_query_that_is_too_long_in_its_normal_form_is_refused(self):
        phrase = "㍿"  # one character that stands for four
        assert bounded(phrase * 1_000)
        with pytest.raises(QueryError, match="6,200 characters, more than 4,000"):
            bounded(phrase * 3_000)


class TestTheFirstOfAKindCount:
    def test_phrases_beyond_are_plain_words(self):
        parsed = parse_query(" ".join(f'"a{number} b"' for number in range(20)))
        assert parsed.phrases == tuple(f"a{number} b" for number in range(MOST_PHRASES))
        assert parsed.text.endswith("a19 b")
        assert parsed.beyond == ("only the first 16 phrases of the query count",)

    def test_excluded_words_and_conditions_beyond_are_passed_over(self):
        parsed = parse_query(
            " ".join(f"-w{number} tag:t{number} -ab{number}x*" for number in range(40))
        )
        assert parsed.excluded == tuple(f"w{number}" for number in range(MOST_EXCLUDED))
        assert len(parsed.excluded_prefixes) == MOST_BEGINNINGS
        assert parsed.values("tag") == [f"t{number}" for number in range(MOST_FIELDS)]
        assert parsed.text == ""
        assert len(parsed.beyond) == 3

    def test_what_is_said_again_does_not_count_again(self):
        parsed = parse_query('"a b" ' * 100 + '"c d"')
        assert parsed.phrases == ("a b", "c d")
        assert parsed.beyond == ()
