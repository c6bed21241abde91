"""Which script a text is written in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.scripts import has_other_letters, is_latin


@pytest.mark.parametrize(
    "text",
    ["", "restore", "café naïve Łódź", "ＡＢＣ", "2025-03-01", "①", "½ x²", "→ 😀", "e\u0301"],
)
def test_latin_letters_and_what_is_no_letter_are_not_other(text):
    assert not has_other_letters(text)
    assert is_latin(text)


@pytest.mark.parametrize(
    "text", ["証明書", "カ", "ｶﾅ", "ひ", "α", "Привет", "서울", "restore 手順"]
)
def test_any_letter_of_another_script_is_other(text):
    assert has_other_letters(text)


@pytest.mark.parametrize(
    ("text", "latin"),
    [
        ("abcd証", True),  # four of five
        ("abc証", False),
        ("Run `make` in 手順 and wait for the server", True),
        ("サーバーで make を実行する", False),
        ("証明書 ［１］［２］［３］ × × ×", False),  # brackets and signs are no letters
    ],
)
def test_a_text_is_latin_when_four_of_five_letters_are(text, latin):
    assert is_latin(text) is latin


@given(st.text())
def test_a_text_without_other_letters_is_latin(text):
    assert has_other_letters(text) or is_latin(text)


@given(st.text(), st.text(alphabet=" 0123456789.,!?［］×÷①²\n"))
def test_what_is_no_letter_does_not_matter(text, signs):
    assert has_other_letters(text + signs) == has_other_letters(text)
    assert is_latin(signs + text) == is_latin(text)
