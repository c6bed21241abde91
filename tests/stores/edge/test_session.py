"""`ShardPoints`: which shard a store reads or writes, and the manifest that belongs to it."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from haystack.dataclasses import Document

from rag.config import RAGConfig
from rag.exceptions import IndexUnavailableError
from rag.index.snapshots import MANIFEST, IndexDirectory
from rag.indexing.run import IndexRun
from rag.search.run import create_search_pipeline, search
from rag.stores import QdrantEdgeDocumentStore

Store = QdrantEdgeDocumentStore
Publish = Callable[[Store, str], None]


@pytest.fixture
def reader(path) -> Iterator[Store]:
    """A second store on the same index, as another process would have."""
    with Store(path) as reader:
        yield reader


def doc(name: str) -> Document:
    return Document(id=name, content=name)


def made(store: Store) -> str | None:
    """Return what the manifest that a store hands out says of its snapshot."""
    manifest = store.manifest()
    return manifest.get("made") if manifest else None


# -- the manifest of what is read ------------------------------------------------------


def test_a_store_that_read_and_now_writes_has_no_manifest(store, reader, publish):
    publish(store, "first")
    store.close()
    assert made(reader) == "first"
    reader.write_documents([doc("b")])
    assert made(reader) is None


def test_a_damaged_manifest_is_an_index_error_that_names_the_mend(store, reader, publish):
    publish(store, "first")
    (Path(store.path) / "gen-1" / MANIFEST).write_text("no tables " * 1000)
    with pytest.raises(IndexUnavailableError) as caught:
        reader.manifest()
    assert "`rag index`" in caught.value.hint


# -- opening and closing ---------------------------------------------------------------


def open_files(path: str) -> list[str]:
    """Return the files below a folder that this process has open or mapped, deleted ones too."""
    found = []
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208
        with suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/self/fd/{number}"))  # noqa: PTH115
    for line in Path("/proc/self/maps").read_text("utf-8").splitlines():
        found += line.split(maxsplit=5)[5:]
    return sorted(name for name in found if name.startswith(f"{path}/"))


needs_proc = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs Linux's /proc")


@needs_proc
def test_a_closed_reader_holds_no_file(store, path, publish):
    publish(store, "first")
    store.close()
    assert made(store) == "first"
    assert any(name.endswith(MANIFEST) for name in open_files(path))
    store.close()
    assert open_files(path) == []


@needs_proc
@pytest.mark.parametrize("file", [MANIFEST, "shard", "shard/segments"])
def test_a_reader_that_fails_to_open_a_generation_holds_no_file(store, path, publish, file):
    store.write_documents([doc("a")])
    publish(store, "first")
    store.close()
    damaged = Path(path) / "gen-1" / file
    damaged.rename(damaged.with_name("away"))
    with pytest.raises(IndexUnavailableError):
        store.count_documents()
    assert open_files(path) == []


# -- staying with one snapshot -------------------------------------------------------


def test_a_pinned_reader_stays_with_its_generation_until_it_is_let_go(store, reader, publish):
    publish(store, "first")
    with reader.pinned():
        assert made(reader) == "first"
        store.write_documents([doc("a")])
        publish(store, "second")
        assert (reader.count_documents(), made(reader)) == (0, "first")
        assert reader.snapshot_name() == "gen-1"
        assert (Path(store.path) / "gen-1").exists()
    assert (reader.count_documents(), made(reader)) == (1, "second")
    assert reader.snapshot_name() == "gen-2"


@pytest.fixture
def indexed(write_notes, path) -> Callable[..., None]:
    """Index notes into the store's folder: `indexed({"a.md": "text"})`."""

    def index(notes: dict[str, str]) -> None:
        folder = write_notes("work", notes)
        with IndexRun(RAGConfig(), directory=IndexDirectory(path)) as run:
            run.index_vault("work", folder)
            run.publish()

    return index


BEFORE = {
    "Rollback.md": "How to roll back a deployment.\n\n#ops",
    "Template.md": "新しいテンプレートの deployment",
}
AFTER = {
    "Rollback.md": "Gardening in spring.\n",
    "Template.md": "Gardening in the rain.\n",
    "Deployment.md": "deployment " * 9,
}
STEPS = (
    *("find_candidates", "get_documents", "notes_with", "points_with", "newest", "score_each"),
    "count_documents_by_filter",
)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "asked",
    [
        *("deployment", "deploymnt", "rollback", '"roll back" deployment', "deploy* -gardening"),
        *("tag:ops", "-gardening", "テンプレート"),
    ],
)
def test_a_publish_in_the_middle_of_a_search_changes_nothing(reader, indexed, monkeypatch, asked):
    indexed(BEFORE)
    pipeline = create_search_pipeline(reader)
    undisturbed = search(pipeline, asked, explained=True)
    assert undisturbed.results
    published: list[str] = []

    def publishing(step: str) -> Callable[..., Any]:
        original = getattr(Store, step)

        def after_it(self: Store, *args: Any, **more: Any) -> Any:
            result = original(self, *args, **more)
            if self is reader and not published:
                published.append(step)
                indexed(AFTER)
            return result

        return after_it

    with monkeypatch.context() as patch:
        for step in STEPS:
            patch.setattr(Store, step, publishing(step))
        disturbed = search(pipeline, asked, explained=True)
    assert published
    assert disturbed == undisturbed
