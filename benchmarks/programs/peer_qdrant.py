"""qdrant-client's local mode: sparse vectors of hashed words, weighed by BM25. VARIANT: words.

Words are stemmed, runs of Japanese cut into pairs of characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

from qdrant_client import QdrantClient, models
from Stemmer import Stemmer

from program import TOP_K, Note, read_notes, run

_K1, _B, _AVERAGE = 1.2, 0.75, 600  # words a note, about
_RUN = re.compile(r"[぀-ヿ一-鿿々ー]+|[^\W぀-ヿ一-鿿々ー]+")
_stem = Stemmer("english").stemWord


def _words(text: str) -> Iterator[str]:
    for word in _RUN.findall(text.lower()):
        if word[0] < "぀":
            yield _stem(word)
        else:
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))


def _vector(text: str, is_query: bool = False) -> models.SparseVector:
    counts = Counter(map(crc32, map(str.encode, _words(text))))
    length = 1 - _B + _B * counts.total() / _AVERAGE
    weights = [1.0 if is_query else n * (_K1 + 1) / (n + _K1 * length) for n in counts.values()]
    return models.SparseVector(indices=list(counts), values=weights)


def _point(number: int, note: Note) -> models.PointStruct:
    vector = _vector(f"{note.title}\n{note.text}")
    return models.PointStruct(
        id=number, vector={"words": vector}, payload={"path": note.path, "title": note.title}
    )


def _load(_: str, vault: Path, index: Path) -> int:
    client = QdrantClient(path=str(index))
    words = models.SparseVectorParams(modifier=models.Modifier.IDF)
    client.create_collection("notes", vectors_config={}, sparse_vectors_config={"words": words})
    points = (_point(number, note) for number, note in enumerate(read_notes(vault)))
    client.upload_points("notes", points, batch_size=256)
    count = client.count("notes").count
    client.close()
    return count


def _search(_: str, index: Path, query: str) -> list[str]:
    client = QdrantClient(path=str(index))
    vector = _vector(query, is_query=True)
    found = client.query_points("notes", query=vector, using="words", limit=TOP_K)
    client.close()
    return [str((point.payload or {})["path"]) for point in found.points]


run(_load, _search)
