"""Two machines over one server: one indexes while the other searches.

Each is a data folder of its own. `make integration` runs the same against a real server, 50 runs
and 200 searches; here it is the stand-in, and less of both.
"""

import os
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from disk_files import write_all
from index_fixtures import offline
from qdrant_server import QdrantServer
from rag.app.requests import SearchRequest, SyncRequest
from rag.app.search import search
from rag.app.sync import sync
from rag.app.workspace import Workspace
from rag.config import RAGConfig, StoreConfig
from rag.index.manifest import published_manifest
from rag.index.snapshots import IndexDirectory

URL = os.environ.get("RAG_TEST_QDRANT_URL", "")
LIVE = [
    pytest.mark.integration,
    pytest.mark.skipif(not URL, reason="RAG_TEST_QDRANT_URL names no server"),
]


@pytest.fixture(params=["stand-in", pytest.param("live", marks=LIVE)])
def store(request) -> Iterator[StoreConfig]:
    """A collection of the test's own."""
    settings = StoreConfig(collection=f"rag-test-{uuid.uuid4()}")
    if request.param == "stand-in":
        with QdrantServer() as running:
            yield replace(settings, url=running.url)
        return
    yield replace(settings, url=URL, shard_number=3)
    for name in (settings.collection, f"{settings.collection}.catalog"):
        httpx.delete(f"{URL}/collections/{name}")


def found(config: RAGConfig, query: str) -> list[str]:
    with Workspace(config) as workspace:
        results = search(workspace, SearchRequest(query, top_k=50)).results
    return [result.title for result in results]


def is_of_one_piece(config: RAGConfig) -> bool:
    """Whether manifest, frequencies and number of points of a snapshot belong together."""
    with published_manifest(IndexDirectory.of(config)) as manifest:
        chunks, points = manifest.totals()[1], int(manifest.get("points"))
        return manifest.frequencies.chunks == chunks == points


def test_one_searches_while_the_other_indexes(tmp_path, store):
    runs, searches = (50, 200) if store.url == URL else (4, 12)
    old = {f"old {n}.md": f"# old {n}\n\nAn armadillo called {n}.\n" for n in range(40)}
    notes = write_all(tmp_path / "notes", old)
    writer, reader = (offline(tmp_path / name, store=store) for name in ("writer", "reader"))
    published: list[int] = []
    failures: list[str] = []
    is_done = threading.Event()

    def index() -> None:
        try:
            for run in range(runs):
                (notes / f"new {run}.md").write_text(f"# new {run}\n\nA zebra called zeb{run}x.\n")
                (notes / f"old {run % 40}.md").write_text(f"# old\n\nAn armadillo, {run} times.\n")
                with Workspace(writer) as workspace:
                    sync(workspace.config, SyncRequest([notes]))
                if found(reader, f"zeb{run}x")[:1] != [f"new {run}"]:
                    failures.append(f"after run {run} its note is not found")
                published.append(run)
        except BaseException as error:
            failures.append(f"indexing: {error!r}")
        finally:
            is_done.set()

    thread = threading.Thread(target=index)
    thread.start()
    made = 0
    while not (is_done.is_set() and made >= searches):
        known = len(published)
        if not known:
            is_done.wait(0.01)
            if failures:
                break
            continue
        made += 1
        zebras = {title for title in found(reader, "zebra") if title.startswith("new")}
        if len(zebras) < known:
            failures.append(f"{len(zebras)} of {known} notes were found")
        if not is_of_one_piece(reader):
            failures.append(f"search {made} found a mixed catalog")
    thread.join()
    assert failures == []
    assert made >= searches and len(published) == runs
