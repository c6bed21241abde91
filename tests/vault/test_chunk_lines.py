"""Chunks of a note put together again, line by line."""

from hypothesis import given
from hypothesis import strategies as st

from rag.vault import Chunk, chunk_note, read_note
from rag.vault.chunking import ChunkLines, chunk_lines, joined_line, merged_text
from tables import rows

LINES = st.sampled_from(
    [
        "# Heading",
        "Short. Then more of it. And the end of it.",
        "当番は三人。夜は一人。休みの日も同じである。",
        "A sentence that goes on and on, without an end in sight for a long time",
        "- item one. With two sentences.",
        "",
    ]
)
TABLE = "| Plan | Price |\n|---|---|\n" + "\n".join(f"| Plan {n} | {n} |" for n in range(30))
FENCE = "```sh\n" + "\n".join(f"run --number {n}" for n in range(30)) + "\n```"


def lines_of(chunk: Chunk) -> ChunkLines:
    meta = {"line_start": chunk.line_start, "line_end": chunk.line_end}
    return chunk_lines(chunk.text, {**meta, "repeated": chunk.repeated})


def merged(content: str, size: int, overlap: int) -> str:
    note = read_note(content.encode(), "v", "a.md", 0.0)
    chunks = chunk_note(note, size, overlap, len)
    assert len(chunks) > 1
    return merged_text([lines_of(chunk) for chunk in chunks])


@given(st.lists(LINES, min_size=4, max_size=30).map("\n".join), st.integers(25, 80), st.data())
def test_chunks_of_a_note_give_its_lines_once_each(content, size, data):
    note = read_note(content.encode(), "v", "a.md", 0.0)
    chunks = chunk_note(note, size, data.draw(st.integers(0, size - 1)), len)
    text = merged_text([lines_of(chunk) for chunk in chunks])
    told = [line.split() for line in content.split("\n") if line.strip()]
    # A heading without text below it is in no chunk.
    kept = [line for line in told if line != ["#", "Heading"]]
    found = [line.split() for line in text.split("\n") if line.strip()]
    assert [line for line in found if line != ["#", "Heading"]] == kept


@rows("block", TABLE, FENCE)
def test_parts_of_a_long_block_are_the_block_again(block):
    assert merged(f"# All\n\nBefore.\n\n{block}\n\nBehind.", 150, 20) == (
        f"# All\n\nBefore.\n\n{block}\n\nBehind."
    )


@rows(
    "known, more, line",
    ("", "One.", "One."),
    ("One. Two.", "Two. Three.", "One. Two. Three."),
    ("One. Two.", "Three.", "One. Two. Three."),
    ("One. Two. Three.", "Two.", "One. Two. Three."),
    ("One.", "One. Two.", "One. Two."),
    ("一つ。二つ。", "二つ。三つ。", "一つ。二つ。三つ。"),
    ("一つ。", "二つ。", "一つ。二つ。"),
    ("as it is", "so it goes", "as it is so it goes"),
)
def test_parts_of_a_line_are_joined_where_they_overlap(known, more, line):
    assert joined_line(known, more) == line
