"""The words of a subject, and the notes that hold all of them."""

import pytest

from rag.search.conditions import SpokenText, notes_holding, subject_words
from rag.stores import get_document_store
from tables import rows

NOTES = {
    "harbour.md": "# Harbour\n\nThe ferries leave at nine. Tickets for cars.\n",
    "tickets.md": "# Tickets\n\nThe ferry costs twelve.\n\n## Cars\n\nThirty.\n",
    "kept.md": "# Cellar\n\nApples were kept here.\n",
    "料金.md": "# フェリーの料金\n\n大人は千円。\n",
    "予約.md": "# 予約\n\nフェリーを予約した。田中さんに会った。\n",
    "会議.md": "# 会議\n\n田中さんと会議。\n",
}


@pytest.fixture(scope="module")
def titled(build_index):
    """Return the file names of the notes that hold all words of a text."""
    with get_document_store(build_index({"v": NOTES})) as store:

        def names(text: str, happened: bool = False) -> list[str]:
            with store.pinned():
                held = notes_holding(store, subject_words(text, happened))[0]
                manifest = store.manifest()
                return sorted(
                    path for _, path, _, _, identity in manifest.names() if identity in held
                )

        yield names


@rows(
    "text, happened, words",
    ("the Ferry timetables", False, ["Ferry", "timetables"]),
    ("notes of Tanaka", True, ["notes", "Tanaka"]),
    ("went to the dentist", True, ["dentist"]),
    ("went home", False, ["went", "home"]),
    ("go", True, ["go"]),
    ("フェリーの料金", False, ["フェリー", "料金"]),
    ("田中さんに会った", True, ["田中", "会"]),
    ("フィルターを交換した", True, ["フィルター", "交換"]),
    ("歯医者に行った", True, ["歯医者"]),
    ("売り上げの推移", False, ["売り上げ", "推移"]),
    ("うさぎ", False, ["うさぎ"]),
    ("", False, []),
)
def test_words_name_the_subject(text, happened, words):
    assert [word.text for word in subject_words(text, happened)] == words


@rows(
    "text, happened, files",
    ("the ferry", False, ["harbour.md", "tickets.md"]),
    ("ferry tickets", False, ["harbour.md", "tickets.md"]),
    ("ferry for cars", False, ["harbour.md", "tickets.md"]),
    ("keep apples", True, ["kept.md"]),
    ("ferry apples", False, []),
    ("フェリー", False, ["予約.md", "料金.md"]),
    ("フェリーの料金", False, ["料金.md"]),
    ("田中さん", False, ["予約.md", "会議.md"]),
    ("xylophone", False, []),
)
def test_a_note_holds_all_words_in_any_form(titled, text, happened, files):
    assert titled(text, happened) == files


def test_a_verb_of_one_ideograph_is_not_part_of_a_longer_word():
    [word] = subject_words("会った", happened=True)
    assert word.is_in(SpokenText.of("田中さんに会いました"))
    assert not word.is_in(SpokenText.of("田中さんと会議"))
