"""Unicode's normal forms of any text."""

import unicodedata
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.support.unicode_forms import compose
from tables import rows

MARKS = "\u0301\u0323\u0345\u3099\uff9e\u0f73\u05b0"
FORMS = ["NFC", "NFKC", "NFD"]


@pytest.mark.parametrize("form", FORMS)
@given(text=st.text(st.one_of(st.sampled_from(MARKS + "aか ﾌﾟ"), st.characters()), max_size=30))
def test_a_text_with_few_marks_on_a_letter_is_in_unicodes_form(form, text):
    assert compose(text, form) == unicodedata.normalize(form, text)


@rows("form, mark", product(FORMS, ("\u0301\u0323", "\uff9e\u0323", "\u0f73\u0301", "\u0345")))
def test_of_the_marks_on_a_letter_thirty_are_kept(form, mark):
    excess = "a" + mark * 20_000 + "b" + mark
    kept = "a" + (mark * 30)[:30] + "b" + mark
    assert compose(excess, form) == unicodedata.normalize(form, kept)


def test_a_long_run_of_other_signs_is_kept():
    text = "é" + "—" * 100 + " …" * 100 + "-" * 100
    assert compose(text) == text
