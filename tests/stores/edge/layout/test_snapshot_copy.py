"""What readers get of a merged index has fewer files, and answers as the staging index does."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from haystack.document_stores.types import DuplicatePolicy

from rag.index.checksums import Record
from rag.index.frequencies import FREQUENCIES
from rag.index.snapshots import SHARD
from rag.stores import QdrantEdgeDocumentStore
from rag.stores.edge.layout import snapshot_copy
from rag.stores.edge.layout.field_indexes import has_points
from rag.support.sparse_files import checksum

Store = QdrantEdgeDocumentStore

COUNT = 800
NOTE = "00000000-0000-4000-8000-{:012}"
FILTERS: list[tuple[dict[str, Any], Callable[[int], bool]]] = [
    ({"field": "meta.vault", "operator": "==", "value": "a"}, lambda n: n % 2 == 0),
    ({"field": "meta.vault", "operator": "!=", "value": "a"}, lambda n: n % 2 == 1),
    ({"field": "meta.tags", "operator": "in", "value": ["t1"]}, lambda n: n % 3 == 1),
    ({"field": "meta.tags", "operator": "==", "value": None}, lambda n: n % 3 == 0),
    ({"field": "meta.file_id", "operator": "==", "value": NOTE.format(7)}, lambda n: n == 7),
    (
        {"field": "meta.created", "operator": ">=", "value": "2025-01-20"},
        lambda n: n % 3 > 0 and n % 28 >= 19,
    ),
    ({"field": "meta.created", "operator": "==", "value": None}, lambda n: n % 3 == 0),
]


def document(number: int) -> Document:
    meta: dict[str, Any] = {"vault": "ab"[number % 2], "file_id": NOTE.format(number)}
    if number % 3:
        meta |= {"tags": [f"t{number % 3}"], "created": f"2025-01-{1 + number % 28:02}"}
    vector = SparseEmbedding([*range(400)], [1.0] * 400)  # so many that they are merged
    return Document(id=f"n{number}", content="text", meta=meta, sparse_embedding=vector)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A merged segment, and one without points beside it."""
    path = tmp_path_factory.mktemp("merged") / "index"
    with Store(str(path)) as store:
        store.write_documents([document(number) for number in range(COUNT)])
        store.publish()
    return path


@pytest.fixture(scope="module")
def grown(index: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, published, written further and published again."""
    path = tmp_path_factory.mktemp("grown") / "index"
    shutil.copytree(index, path)
    with Store(str(path)) as store:
        store.delete_documents([f"n{number}" for number in range(COUNT // 2)])
        store.write_documents([document(number) for number in range(COUNT, 2 * COUNT)])
        store.publish()
    return path


def test_a_file_that_the_engine_makes_in_a_full_segment_is_summed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = snapshot_copy._open_once

    def open_and_add(shard: Path, points: int) -> None:
        opened(shard, points)
        [full] = filter(has_points, shard.glob("segments/*"))
        (full / "made.dat").write_bytes(b"new")

    monkeypatch.setattr(snapshot_copy, "_open_once", open_and_add)
    with Store(str(tmp_path / "index")) as store:
        store.write_documents([document(number) for number in range(COUNT)])
        store.publish()
    [made] = (tmp_path / "index/gen-1").rglob("made.dat")
    record = Record.read(tmp_path / "index/gen-1")
    assert record and record.sums[str(made.relative_to(record.folder))] == checksum(made)
    assert record.damaged(all_read=True) == []


def indexes(index: Path, home: str, filled: bool) -> list[str]:
    """Return the names of the indexes of fields, in all segments with points or without."""
    segments = (index / home / SHARD).glob("segments/*")
    chosen = [segment for segment in segments if has_points(segment) == filled]
    return sorted(file.name for one in chosen for file in one.glob("payload_index/*-*"))


def test_a_segment_with_points_keeps_what_selects_and_what_sorts(index: Path) -> None:
    endings = [name.rpartition("-")[2] for name in indexes(index, "gen-1", filled=True)]
    assert sorted(endings) == ["map", "map", "map", "numeric"]


SHARED = {
    *("inverted_index.dat", "indices_tracker.json", "page_0.dat", "id_tracker.mappings"),
    *("values_to_points.bin", "point_to_values.bin", "data.bin"),
}


def files(index: Path, home: str) -> dict[str, Path]:
    """Return the files of the segments with points by their paths there."""
    found = [s for s in (index / home / SHARD).glob("segments/*") if has_points(s)]
    return {str(f.relative_to(one.parent)): f for one in found for f in one.rglob("*.*")}


def test_what_the_engine_never_writes_again_is_on_the_disk_once(index: Path) -> None:
    work, published = files(index, "work"), files(index, "gen-1")
    shared = {Path(name).name for name, file in published.items() if file.samefile(work[name])}
    assert shared == SHARED


def test_what_is_on_the_disk_once_stays_as_it_was_published(index: Path, tmp_path: Path) -> None:
    record = Record.read(index / "gen-1")
    shutil.copytree(index, tmp_path / "index")
    with Store(str(tmp_path / "index")) as store:
        store.delete_documents(["n1"])
        store.write_documents([replace(document(2), content="other")], DuplicatePolicy.OVERWRITE)
        store.publish()
    work = files(tmp_path / "index", "work")
    kept = [name for name in files(index, "gen-1") if Path(name).name in SHARED]
    assert kept and record
    for name in kept:
        assert checksum(work[name]) == record.sums[f"{SHARD}/segments/{name}"]


def test_the_frequencies_are_on_the_disk_once(index: Path) -> None:
    assert (index / "work" / FREQUENCIES).samefile(index / "gen-1" / FREQUENCIES)


def test_one_without_points_keeps_what_sorts(index: Path) -> None:
    assert len(indexes(index, "work", filled=False)) > 1
    [kept] = indexes(index, "gen-1", filled=False)
    assert kept.endswith("-numeric")


filters = pytest.mark.parametrize(
    "where, selects", FILTERS, ids=[f"{f['field']} {f['operator']}" for f, _ in FILTERS]
)


@filters
def test_filters_select_what_they_should(
    index: Path, where: dict[str, Any], selects: Callable[[int], bool]
) -> None:
    with Store(str(index)) as reader:
        found = {d.id for d in reader.filter_documents(where)}
    assert found == {f"n{n}" for n in range(COUNT) if selects(n)}


@filters
def test_so_they_do_after_more_was_written_and_merged(
    grown: Path, where: dict[str, Any], selects: Callable[[int], bool]
) -> None:
    with Store(str(grown)) as reader:
        found = {d.id for d in reader.filter_documents(where)}
    assert found == {f"n{n}" for n in range(COUNT // 2, 2 * COUNT) if selects(n)}


def test_the_working_copy_has_no_index_that_only_tells_what_a_point_lacks(grown: Path) -> None:
    kept = indexes(grown, "work", filled=True) + indexes(grown, "work", filled=False)
    assert kept
    assert not [name for name in kept if name.endswith("-null")]


def test_the_newest_are_found(index: Path) -> None:
    with Store(str(index)) as reader:
        found = reader.newest(top_k=5)
    last = {f"n{n}" for n in range(COUNT) if n % 3 and n % 28 == 27}
    assert {candidate.id for candidate in found} <= last
    assert len(found) >= 5
