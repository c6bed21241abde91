"""Vectors by the text they were made from."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag.index.embedding_space import VectorCache


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "index" / "vectors.sqlite3"


@pytest.fixture
def cache(file) -> Iterator[VectorCache]:
    with VectorCache(file) as cache:
        yield cache


def test_a_text_has_the_vector_it_was_given_at_length_one(cache):
    cache.put("space", {"text": [3.0, 4.0]})
    assert cache.get("space", ["text", "other"]) == {"text": pytest.approx([0.6, 0.8], abs=1e-2)}


def test_it_outlives_the_process(file):
    with VectorCache(file) as cache:
        cache.put("space", {"text": [0.0, 1.0]})
    with VectorCache(file) as cache:
        assert cache.get("space", ["text"]) == {"text": [0.0, 1.0]}


def test_trimming_forgets_other_spaces_and_the_oldest(cache):
    cache.put("old", {"text": [1.0]})
    for number in range(5):
        cache.put("space", {str(number): [1.0]})
    cache.put("space", {"0": [1.0]})  # fresh again
    cache.trim("space", 3)
    assert cache.get("old", ["text"]) == {}
    assert set(cache.get("space", map(str, range(5)))) == {"3", "4", "0"}
    cache.trim("space", 3)
    assert set(cache.get("space", map(str, range(5)))) == {"3", "4", "0"}


def test_a_damaged_file_is_made_anew(file):
    with VectorCache(file) as cache:
        cache.put("space", {"text": [1.0]})
    file.write_bytes(b"no database" * 500)
    with VectorCache(file) as cache:
        assert cache.get("space", ["text"]) == {}
        cache.put("space", {"text": [1.0]})
        assert cache.get("space", ["text"]) == {"text": [1.0]}
