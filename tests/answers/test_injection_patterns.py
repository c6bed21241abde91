"""The words that a text must hold before the patterns of instructions are tried on it."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.answers import prompt_injection
from rag.answers.prompt_injection import legible

RULES = [(number, p) for number in range(20) for p in prompt_injection._compiled(number)]


@pytest.mark.sampled
@pytest.mark.parametrize("number, pattern", RULES, ids=range(len(RULES)))
def test_no_text_that_a_pattern_matches_goes_without_it(number, pattern):
    @settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
    @given(st.from_regex(pattern))
    def holds(text: str) -> None:
        if any(pattern.search(legible(line)) for line in text.split("\n")):
            assert pattern in prompt_injection._suspected(text)

    holds()


def test_text_without_such_words_is_matched_with_no_pattern():
    text = "Roll back when holds expire.\n\n保留は九分で切れる。"
    assert prompt_injection._suspected(text) == []
