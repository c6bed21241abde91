"""Which script a text is written in."""

from rag.text.scripts import is_japanese, is_latin
from tables import rows


@rows(
    "text", "", "restore", "café naïve Łódź", "ＡＢＣ", "2025-03-01", "①", "½ x²", "→ 😀", "e\u0301"
)
def test_latin_letters_and_what_is_no_letter_are_not_other(text):
    assert is_latin(text, 1.0)


@rows(
    "text, latin",
    ("abcd証", True),  # four of five
    ("abc証", False),
    ("Run `make` in 手順 and wait for the server", True),
    ("サーバーで make を実行する", False),
    ("証明書 ［１］［２］［３］ × × ×", False),  # brackets and signs are no letters
)
def test_a_text_is_latin_when_four_of_five_letters_are(text, latin):
    assert is_latin(text) is latin


@rows(
    "text",
    *("Kubernetes 更新手順", "Ruby on Rails 設定手順", "更新 Kubernetes", "PostgreSQL 復元"),
    "何?",
)
def test_kanji_beside_a_longer_latin_name_are_japanese(text):
    assert is_japanese(text)


@rows(
    "text",
    *("what does 更新手順 mean", "notes tagged 議事録", "the kanji 木", "a 木 tree"),
    "Протокол 更新",
)
def test_kanji_in_text_of_another_language_are_not(text):
    assert not is_japanese(text)
