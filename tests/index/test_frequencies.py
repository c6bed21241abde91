"""Document frequencies: what is counted, what the file holds, and what a query is multiplied by."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.exceptions import IndexUnavailableError
from rag.index.manifest import Frequencies, Manifest, dimension_counts
from rag.text.bm25 import SparseVector
from tables import rows

CHUNK = st.lists(st.integers(0, (1 << 32) - 1) | st.integers(0, 9), max_size=8, unique=True)
CHUNK_LISTS = st.lists(CHUNK, max_size=12)


def vectors(chunks: list[list[int]]) -> list[SparseVector]:
    return [SparseVector(chunk, [1.0] * len(chunk)) for chunk in chunks]


def counted(chunks: list[list[int]]) -> Frequencies:
    frequencies = Manifest.empty().frequencies
    frequencies.change(dimension_counts(vectors(chunks)))
    return frequencies


def held(frequencies: Frequencies) -> dict[int, int]:
    return dict(frequencies._db.execute("SELECT * FROM counts WHERE dimension != -1"))


@given(CHUNK_LISTS)
def test_each_dimension_counts_the_chunks_that_have_it(chunks):
    found, expected = counted(chunks), Counter(d for chunk in chunks for d in chunk)
    assert held(found) == expected
    assert all(map(found.holds, expected))
    assert found.chunks == sum(map(bool, chunks))


@given(CHUNK_LISTS, CHUNK_LISTS, CHUNK_LISTS)
def test_changes_give_what_counting_anew_gives(stay, go, come):
    changes = dimension_counts(vectors(come))
    changes.subtract(dimension_counts(vectors(go)))
    updated, fresh = counted(stay + go), counted(stay + come)
    updated.change(changes)
    assert held(updated) == held(fresh)
    assert updated.chunks == fresh.chunks


def test_a_file_holds_what_was_counted(tmp_path):
    path = tmp_path / "manifest"
    with Manifest.open_work(path) as manifest:
        manifest.frequencies.change(dimension_counts(vectors([[1, 2], [2]])))
    with Manifest.open_snapshot(path) as manifest:
        assert held(manifest.frequencies) == {1: 1, 2: 2}
        assert manifest.frequencies.chunks == 2


@rows("content", b"", b"short", b"x" * 4096)
def test_a_file_that_holds_something_else_is_refused(tmp_path, content):
    (tmp_path / "manifest").write_bytes(content)
    with pytest.raises(IndexUnavailableError):
        Manifest.open_snapshot(tmp_path / "manifest")


def test_a_query_is_multiplied_by_the_idf():
    found = counted([[1, 2], [1], [1], [3]])
    weighed = found.weigh(SparseVector([1, 2], [2.0, 1.0]))
    assert weighed.indices == [1, 2]
    assert weighed.values == pytest.approx(
        [2 * math.log(1 + (4 - 3 + 0.5) / 3.5), math.log(1 + (4 - 1 + 0.5) / 1.5)]
    )
