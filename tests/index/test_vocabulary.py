"""The words of the notes, by their beginnings and by their likeness."""

import string
import uuid
from operator import ne

from hypothesis import given
from hypothesis import strategies as st

from rag.index.manifest import ChunkKey, Manifest, NoteRow


def near(*vocabulary: str, to: str) -> list[str]:
    """Return what a vocabulary of these words offers for a word."""
    with Manifest.empty() as manifest:
        manifest.add_words(vocabulary)
        return list(manifest.catalogue.words_near(to))


# -- by their beginnings ---------------------------------------------------------------


@given(st.sets(st.text("abé%_日𠮷", min_size=1, max_size=4)), st.text("abé%_日𠮷", max_size=2))
def test_exactly_the_words_with_the_prefix_are_found(known, prefix):
    with Manifest.empty() as manifest:
        manifest.add_words(known)
        found = manifest.catalogue.words_starting(prefix)
    assert found == sorted(word for word in known if word.startswith(prefix))


# -- within others ---------------------------------------------------------------------


def test_a_part_of_a_word_is_found_wherever_it_stands():
    with Manifest.empty() as manifest:
        manifest.add_words(["クイックスイッチャー"])
        words = manifest.catalogue
        for part in ("クイック", "スイッチ", "チャー"):
            assert [*words.words_around(part)]
        assert not [*words.words_around("スイッチング")]


# -- by their likeness -----------------------------------------------------------------


def test_in_four_letters_none_is_changed():
    assert near("rich", "price", "ice", "icer", to="rice") == ["price", "ice"]
    assert near("スライド", to="スライト") == ["スライド"]


def test_the_nearest_word_comes_first():
    assert near("templated", "templates", "template", "temples", to="templats") == [
        *("templates", "template", "templated", "temples")
    ]


def test_of_equally_near_words_a_note_s_name_comes_first():
    with Manifest.empty() as manifest:
        manifest.add_words(["canvases", "canvas"])
        assert list(manifest.catalogue.words_near("canvass")) == ["canvases", "canvas"]
        chunks = [ChunkKey(str(uuid.UUID(int=1)), bytes(16))]
        manifest.commit_write([NoteRow("work", "Canvas.md", "", 1, 1, False, b"", chunks)])
        assert list(manifest.catalogue.words_near("canvass")) == ["canvas", "canvases"]


def test_no_more_than_five_words_are_offered():
    letters = string.ascii_lowercase
    known = [f"note{letter}" for letter in letters] + [f"{letter}ote" for letter in letters]
    offered = near(*known, to="note")
    assert [word[0] == "n" for word in offered] == [True] * 5


def slips(a: str, b: str) -> int:
    """Return the optimal string alignment distance, by its definition."""
    rows = [[i + j if 0 in (i, j) else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (x != y))
            if i > 1 and j > 1 and (x, y) == (b[j - 2], a[i - 2]):
                rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


WORDS = st.text("abcア", min_size=1, max_size=10)


@given(asked=WORDS, known=st.sets(WORDS, max_size=30))
def test_what_is_offered_is_known_near_enough_and_the_nearest_there_is(asked, known):
    allowed = 0 if len(asked) < 4 else 1 if len(asked) < 8 else 2
    changed = len(asked) == 4 and asked.isascii()
    reachable = {
        word: slips(asked, word)
        for word in known
        if allowed and not (changed and sum(map(ne, asked, word)) == 1 and len(word) == 4)
    }
    nearest = sorted(
        (distance, word[0] != asked[0])
        for word, distance in reachable.items()
        if distance <= allowed
    )
    same = [one for one in nearest if not one[1]]
    # One slip behind the same first letter is so likely that no other word is looked for.
    expected = same if same and same[0][0] <= 1 else nearest
    offered = near(*known, to=asked)
    assert [(reachable[word], word[0] != asked[0]) for word in offered] == expected[:5]
