"""Where a snapshot's shard is opened when its own folder will not do."""

import os
from pathlib import Path
from typing import Any

import pytest
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.exceptions import DiskFullError
from rag.stores import QdrantEdgeDocumentStore as Store
from rag.stores.edge import narrow_shard

MAPPED = Path("/proc/self/maps")


def document(number: int) -> Document:
    embedding = [float((number * step) % 17) + 1 for step in range(1, 257)]
    words = SparseEmbedding([number, 5_000, 6_000 + number % 7], [1.0, 2.0, 1.0])
    meta = {"vault": "v", "tags": [f"t{number % 3}"], "position": number}
    return Document(
        id=f"n{number}",
        content=f"text {number} " * 40,
        meta=meta,
        embedding=embedding,
        sparse_embedding=words,
    )


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Path:
    """An index with a merged segment, and points that are not merged yet."""
    path = tmp_path_factory.mktemp("private") / "index"
    with Store(str(path)) as store:
        store.write_documents([document(number) for number in range(1500)])
        store.publish()
        store.write_documents([document(2000), document(2001)])
        store.publish()
    [shard] = path.glob("gen-*/shard")
    kinds = {file.name for file in shard.glob("segments/*/*id_tracker.mappings")}
    assert kinds == {"id_tracker.mappings", "mutable_id_tracker.mappings"}
    return path


def close(how: str, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the index lie on a disk that is full, or that may not be written."""
    room, may = narrow_shard.free_room, os.access

    def free_room(folder: str | Path) -> int:
        return 0 if Path(folder).is_relative_to(index) else room(folder)

    def may_be(path: Any, mode: int) -> bool:
        return may(path, mode) and not Path(path).is_relative_to(index)

    if how == "full":
        monkeypatch.setattr(narrow_shard, "free_room", free_room)
    else:
        monkeypatch.setattr(os, "access", may_be)


def everything(path: Path) -> list[Any]:
    words = SparseEmbedding([5_000, 7], [1.0, 1.0])
    where = {"field": "meta.tags", "operator": "in", "value": ["t1"]}
    with Store(str(path)) as store:
        return [
            store.find_candidates(words, where, top_k=20),
            store.find_lists([(document(3).embedding or [], 20)]),
            sorted(found.id for found in store.get_documents(["n7", "n2001"])),
            store.count_documents(),
        ]


HOW = pytest.mark.parametrize("how", ["full", "read only"])


@HOW
def test_the_same_is_found_as_where_there_is_room(index, opened, monkeypatch, how):
    expected = everything(index)
    assert all(path.is_relative_to(index) for path in opened)
    opened.clear()
    close(how, index, monkeypatch)
    assert everything(index) == expected
    assert opened and not any(path.is_relative_to(index) for path in opened)


@HOW
def test_nothing_is_left_of_such_a_folder(index, tmp_path, monkeypatch, how):
    close(how, index, monkeypatch)
    monkeypatch.setattr(narrow_shard, "_places", lambda: (str(tmp_path),))
    before = sorted([*index.rglob("*"), *tmp_path.iterdir()])
    everything(index)
    assert sorted([*index.rglob("*"), *tmp_path.iterdir()]) == before


@pytest.mark.skipif(not MAPPED.exists(), reason="the system does not list what is mapped")
def test_where_nothing_may_be_written_no_file_of_the_index_is_opened_for_writing(
    index, monkeypatch
):
    close("read only", index, monkeypatch)
    words = SparseEmbedding([5_000], [1.0])
    with Store(str(index)) as store:
        store.find_candidates(words)
        lines = [line for line in MAPPED.read_text().splitlines() if f"{index}/" in line]
    assert lines  # the large ones are links
    assert [line for line in lines if line.split()[1][1] == "w"] == []


@HOW
def test_without_room_anywhere_it_is_the_disk_and_not_the_index(index, monkeypatch, how):
    close(how, index, monkeypatch)
    monkeypatch.setattr(narrow_shard, "_places", lambda: ())
    with Store(str(index)) as store, pytest.raises(DiskFullError) as raised:
        store.count_documents()
    assert "damaged" not in str(raised.value) and "RAG_DATA_DIR" in raised.value.hint
