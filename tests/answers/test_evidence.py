"""What a source holds: words, numbers and wording, and in which language."""

from hypothesis import given
from hypothesis import strategies as st

from rag.answers.claims import Evidence, fold, names
from rag.answers.notices import is_japanese, tongue
from tables import rows


class TestLanguages:
    @rows("text", "Podとは何ですか？", "証明書更新手順", "ﾊﾞｯｸｱｯﾌﾟ?", "えっ")
    def test_a_question_with_kana_or_mostly_of_chinese_characters_is_japanese(self, text):
        assert is_japanese(text)

    @rows(
        "text, language",
        ("When do the holds expire?", "en"),
        ("Wie lange werden die Sicherungen aufbewahrt?", "de"),
        ("Combien de temps les sauvegardes sont-elles conservées ?", "fr"),
        ("当番は十五分以内に返事をする。", "ja"),
        ("kubernetes rollback", ""),
        ("Что такое под", "cyrillic"),
        ("42", ""),
    )
    def test_small_words_tell_languages_of_one_alphabet_apart(self, text, language):
        assert tongue(text) == language


class TestNames:
    @rows(
        "text, found",
        ("The plan was drawn by Ada Holt.", ["Ada", "Holt"]),
        ("Press Ctrl+P to print the page.", ["Ctrl+P"]),
        ("set max_size and the X3", ["max_size", "X3"]),
        ("The note is short.", []),
        ("Ctrl+Pで印刷する。", ["Ctrl+P"]),
        ("Obsidianのノートを開く。", ["Obsidian"]),
        ("Das Haus ist der Ort.", []),  # every German noun has a capital
    )
    def test_are_keys_identifiers_and_capitals(self, text, found):
        assert names(text) == found


class TestQuotations:
    SOURCE = Evidence(
        "# Backups\n\nWe keep backups\nfor **ninety days**, and [never](x.md) longer than 1.5\n"
        "years.\n\n当番は十五分\n以内に返事をする。"
    )

    @rows(
        "quotation",
        "We keep backups for ninety days",
        "we keep backups for ninety days, and never longer",
        "keep backups … never longer than 1.5 years.",
        "keep backups [...] 1.5 years",
        "当番は十五分以内に返事をする",
        "十五分以内に返事",
        "",
    )
    def test_stand_word_for_word_whatever_the_marks_and_line_ends(self, quotation):
        assert self.SOURCE.says(quotation)

    @rows(
        "quotation",
        *("We keep backups for nine days", "We keep backup"),
        *("We keep all backups for ninety days", "longer than 15 years"),
        *("never longer … We keep backups", "当番は十分以内に返事をする"),
    )
    def test_with_a_changed_word_do_not(self, quotation):
        assert not self.SOURCE.says(quotation)

    @given(st.text(max_size=40), st.text(max_size=40))
    def test_any_run_of_lines_of_a_text_stands_in_it(self, one, other):
        assert Evidence(f"{one}\n\n{other}").says(fold(one))
