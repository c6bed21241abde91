"""What the chunks of a note come to together."""

import pytest

from rag.indexing.note_reader import cut_note
from rag.vault import Chunk, Note, limits, read_note


def cut(text: str) -> tuple[Note, list[Chunk]]:
    note = read_note(text.encode(), "work", "a.md", 0.0)
    return note, cut_note(note, 512, 50)


@pytest.mark.sampled
@pytest.mark.parametrize("word", ["w{:x} ", "é{:x}ü{:x} ", "{:x}—", "Ж{:x} "])
def test_chunks_are_kept_up_to_the_most_words(word):
    note, chunks = cut("".join(word.format(n, n) for n in range(limits.MOST_WORDS + 5_000)))
    assert note.problems == [
        f"more than {limits.MOST_WORDS:,} different words:"
        f" only its first {len(chunks):,} chunks are indexed"
    ]
    held = sum(len(chunk.text) for chunk in chunks)
    assert 0.85 < held / len("".join(note.lines)) < 1.1  # overlaps count twice


def test_tags_are_kept_as_far_as_chunks_may_bear_them():
    tags = " ".join(f"#t{number}" for number in range(1000))
    note, chunks = cut(tags + "\n" + "# h\n\ntext\n\n" * 1000)
    assert len(note.tags) < 1000
    spent = sum(limits.COST_OF_TAG + len(tag) for tag in note.tags) * len(chunks)
    assert 0.9 * limits.MOST_OF_TAGS < spent <= limits.MOST_OF_TAGS
    assert note.problems == [
        f"1,000 tags are too many for a note of {len(chunks):,} chunks:"
        f" only the first {len(note.tags)} are kept"
    ]


def test_titles_and_headings_are_cut_as_far_as_chunks_may_bear_them():
    path = "".join(f"{'#' * level} {str(level) * 500}\n" for level in range(1, 6))
    note, chunks = cut(path + "###### leaf\n\ntext\n\n" * 4000)
    assert note.problems == [
        f"title and headings are too long for a note of {len(chunks):,} chunks:"
        f" only {limits.MOST_REPEATED // len(chunks)} characters of them are kept with each"
    ]
    repeated = sum(len(note.title) + sum(map(len, chunk.heading)) for chunk in chunks)
    assert repeated <= limits.MOST_REPEATED
    assert chunks[-1].heading[-1] == "leaf"


def test_a_note_within_its_bounds_keeps_all():
    note, chunks = cut("# Title\n\n#a #b\n\n## Part\n\ntext")
    assert (note.tags, note.problems) == (["a", "b"], [])
    assert chunks[-1].heading == ("Title", "Part")
