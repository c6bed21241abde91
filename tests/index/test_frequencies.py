"""Document frequencies: what is counted, what the file holds, and what a query is multiplied by."""

import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.index.frequencies import Frequencies, dimension_counts
from rag.text.bm25 import SparseVector

CHUNK = st.lists(st.integers(0, (1 << 32) - 1) | st.integers(0, 9), max_size=8, unique=True)
CHUNKS = st.lists(CHUNK, max_size=12)


def vectors(chunks: list[list[int]]) -> list[SparseVector]:
    return [SparseVector(chunk, [1.0] * len(chunk)) for chunk in chunks]


def counted(chunks: list[list[int]], before: Frequencies | None = None) -> Frequencies:
    return (before or Frequencies()).changed(dimension_counts(vectors(chunks)))


def held(found: Frequencies) -> dict[int, int]:
    dimensions, counts = found.counts()
    return dict(zip(dimensions.tolist(), counts.tolist(), strict=True))


@given(CHUNKS)
def test_each_dimension_counts_the_chunks_that_have_it(chunks):
    found, expected = counted(chunks), Counter(d for chunk in chunks for d in chunk)
    assert held(found) == expected
    assert all(found.of(dimension) == count for dimension, count in expected.items())
    assert found.chunks == sum(map(bool, chunks))


@given(CHUNKS, CHUNKS, CHUNKS)
def test_changes_give_what_counting_anew_gives(stay, go, come):
    changes = dimension_counts(vectors(come))
    changes.subtract(dimension_counts(vectors(go)))
    updated, fresh = counted(stay + go).changed(changes), counted(stay + come)
    assert held(updated) == held(fresh)
    assert updated.chunks == fresh.chunks
    assert updated.to_bytes() == fresh.to_bytes()


@given(CHUNKS)
def test_a_file_holds_what_was_counted(tmp_path_factory, chunks):
    path = tmp_path_factory.mktemp("counts") / "frequencies"
    path.write_bytes(counted(chunks).to_bytes())
    found = Frequencies.open(path)
    assert held(found) == held(counted(chunks))
    assert found.chunks == counted(chunks).chunks
    found.close()


def test_a_chunk_that_was_never_counted_cannot_go():
    with pytest.raises(ValueError, match="do not fit"):
        counted([[2]]).changed(Counter({1: -1}))


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 64, counted([[1], [1]]).to_bytes()[:-1]])
def test_a_file_that_holds_something_else_is_refused(tmp_path: Path, content: bytes):
    (tmp_path / "frequencies").write_bytes(content)
    with pytest.raises(ValueError):
        Frequencies.open(tmp_path / "frequencies")


def test_a_query_is_multiplied_by_the_idf():
    found = counted([[1, 2], [1], [1], [3]])
    weighed = found.weigh(SparseVector([1, 2], [2.0, 1.0]))
    assert weighed.indices == [1, 2]
    assert weighed.values == pytest.approx(
        [2 * math.log(1 + (4 - 3 + 0.5) / 3.5), math.log(1 + (4 - 1 + 0.5) / 1.5)]
    )
