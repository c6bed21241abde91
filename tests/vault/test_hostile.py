"""Every reader on notes that are made to take the machine."""

import gc
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile import FAMILIES, FRAGMENTS
from property_examples import examples
from rag.index.searchable_text import lexical_parts
from rag.indexing.note_reader import chunk_meta, cut_note
from rag.search.matching_line import excerpt, matching_line
from rag.search.results import SearchResult
from rag.text.bm25_documents import encode_documents
from rag.text.matches import snippet, weigh_terms
from rag.text.token_estimate import count_tokens
from rag.vault import limits, read_note
from rag.vault.note import decode, split_lines
from rag.vault.sentences import readable_lines

SMALL, LARGE = 4_000, 16_000
LIMIT = 9  # times the cost for four times the text; where that is squared it is sixteen times
# Before it a paragraph that must be cut: a note that is one chunk is not looked at so closely.
LONG = "word " * 600


def take_in(raw: bytes) -> None:
    """Do what indexing does with a note, and what showing its chunks does."""
    note = read_note(raw, "work", "a.md", 0.0)
    chunks = cut_note(note, 512, 50)
    parts = [lexical_parts(chunk_meta(note, chunk, "id"), chunk.text) for chunk in chunks]
    encode_documents(["\n".join(part) for part in parts])
    for *_, text in parts:
        readable_lines.cache_clear()
        snippet(text, "word a カタ", 160)
        result = SearchResult(text, 0.0, "a.md", "a", "v", 0, line_end=text.count("\n") + 1)
        matching_line(result, "word a カタ", weigh_terms("word a カタ"))
        excerpt(result, "word a カタ", 160)


def seconds(work: Callable[[bytes], None], raw: bytes) -> float:
    started = time.process_time()
    work(raw)
    return time.process_time() - started


@pytest.fixture(autouse=True)
def no_garbage_collector():
    gc.disable()
    yield
    gc.enable()


@pytest.mark.sampled
@pytest.mark.parametrize("name", FAMILIES)
def test_four_times_the_text_does_not_cost_the_square(name):
    family = FAMILIES[name]
    head = "" if family(SMALL).startswith("---\n") else LONG
    small, large = (
        (head + family(size)).encode("utf-8", "surrogatepass") for size in (SMALL, LARGE)
    )
    take_in(small)
    cheap, dear = float("inf"), float("inf")
    for _ in range(5):  # others use the machine too: the least of some times counts
        cheap, dear = min(cheap, seconds(take_in, small)), min(dear, seconds(take_in, large))
        if dear < LIMIT * cheap:
            return
    raise AssertionError(f"{LARGE} bytes took {dear:.3f} s, {SMALL} bytes {cheap:.3f} s")


NOTES = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join),
    st.lists(
        st.tuples(st.sampled_from(FRAGMENTS), st.integers(1, 60)).map(
            lambda pair: pair[0] * pair[1]
        ),
        max_size=8,
    ).map("".join),
    st.sampled_from(sorted(FAMILIES)).map(lambda name: FAMILIES[name](1500)),
)


@settings(max_examples=examples(150))
@given(st.sampled_from(["", "---\n", "---\ntags: ", "---\n&a a: "]), NOTES, st.integers(1, 60))
def test_any_note_is_read_within_its_bounds(head, text, size):
    raw = (head + text).encode("utf-8", "surrogatepass")
    note = read_note(raw, "work", "a.md", 0.0)
    chunks = cut_note(note, size, size // 3)
    assert len(note.tags) <= limits.MOST_TAGS
    assert all(len(tag) <= limits.LONGEST_TAG for tag in note.tags)
    assert len(note.title) <= limits.LONGEST_TITLE
    assert all(isinstance(problem, str) and len(problem) < 300 for problem in note.problems)
    lines = split_lines(decode(raw, []))
    for chunk in chunks:
        held = "\n".join(lines[chunk.line_start - 1 : chunk.line_end])
        own = chunk.text.split("\n")[chunk.repeated :][: chunk.line_end - chunk.line_start + 1]
        assert "\n".join(own) in held or not chunk.text
        assert count_tokens(chunk.text) <= 2 * size
    assert len({chunk.id for chunk in chunks}) == len(chunks) > 0
