"""Different words, counted roughly."""

from __future__ import annotations

import pytest

from rag.text.word_count import rough_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Two words, two WORDS: 2.", [b"two", b"words", b"two", b"words", b"2"]),
        ("Café au lait", [b"caf\xc3\xa9", b"au", b"lait"]),
        ("слово Слово — два", ["слово", "слово", "два"]),
        ("東京のサーバーとデータベース", ["サーバー", "データベース"]),
        ("これは日本語です。", []),
    ],
)
def test_words_are_what_the_index_takes_for_words(text, words):
    assert [*rough_words(text)] == words
