"""What copying an index to a Qdrant server costs, beside the server's own part of it.

    python benchmarks/copying.py --server http://127.0.0.1:6333 [--notes 5000] [--size 384]

A generated vault is indexed in the embedded store and gets made embeddings (`--size 0`: none), then
`rag index --to-server` copies it. `bare` sends the same points from JSON that is ready, to a
collection of the same layout: what no client can do without. All collections are the benchmark's
own, and are deleted.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path

import httpx
import numpy as np

from measuring import Measured, environment, measure
from rag.config import RAGConfig, StoreConfig, load_config
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST
from rag.indexing.run import IndexRun
from rag.stores import get_document_store
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.points import Page
from rag.stores.server.document_store import point_json, point_requests
from vaults import BYTES, make_vault

COLLECTION = "rag_benchmark_copying"
LIMIT = 1800.0
ROUNDS = 2
SENTENCES = 4  # of a chunk, about as many as notes have


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", default=os.environ.get("RAG_TEST_QDRANT_URL", ""))
    parser.add_argument("--notes", type=int, default=5000)
    parser.add_argument("--size", type=int, default=0, help="numbers of an embedding")
    arguments = parser.parse_args()
    if not arguments.server:
        print("skipped: no --server named, nor RAG_TEST_QDRANT_URL")
        return
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        make_vault(home / "vault", arguments.notes, arguments.notes * BYTES / 1e6)
        os.environ["RAG_DATA_DIR"] = str(home / "data")
        config = load_config()
        chunks = _index(config, home / "vault", arguments.size)
        print(f"{chunks:,} chunks, embeddings of {arguments.size} numbers")
        remote = replace(config, store=StoreConfig(url=arguments.server, timeout=300))
        print(f"{'':12}{'wall s':>9}{'CPU s':>9}{'us/chunk':>10}{'wall ÷ bare':>13}")
        for number in range(ROUNDS):
            with _collection(remote, f"bare{number}") as own:
                bare = _bare(config, own)
            _print("bare", bare, None, chunks, bare)
            with _collection(remote, f"rag{number}") as own:
                took = _copy(own, home)
            _print("rag", took.wall, took.cpu, chunks, bare)


@contextmanager
def _collection(remote: RAGConfig, name: str) -> Iterator[RAGConfig]:
    """Lend a collection that there was not; it is deleted afterwards."""
    collection = f"{COLLECTION}_{name}"
    try:
        yield replace(remote, store=replace(remote.store, collection=collection))
    finally:
        for each in (collection, f"{collection}.catalog"):
            httpx.delete(f"{remote.store.url}/collections/{each}", timeout=300)


def _print(name: str, wall: float, cpu: float | None, chunks: int, bare: float) -> None:
    own = f"{cpu:9.1f}{cpu / chunks * 1e6:10.0f}" if cpu is not None else " " * 19
    print(f"{name:12}{wall:9.1f}{own}{wall / bare:13.2f}", flush=True)


def _index(config: RAGConfig, vault: Path, size: int) -> int:
    with IndexRun(config) as run:
        run.index_vault("notes", vault)
        run.publish()
    if size:
        with get_document_store(config) as store:
            _embed(store, size)
    return run.report.chunks


def _embed(store: BaseDocumentStore, size: int) -> None:
    """Give every chunk the embeddings of some sentences, and publish."""
    rng = np.random.default_rng(1)
    store.begin_writing()
    for points in store.point_pages(Page(500, fields=False)):
        made = rng.normal(size=(len(points), SENTENCES, size)).tolist()
        store.write_embeddings({p.id: rows for p, rows in zip(points, made, strict=True)})
    with Manifest.open_work(store.directory.work / MANIFEST) as manifest:
        manifest.set(revision=str(store.directory.newest() + 1))
    store.publish()


def _bare(config: RAGConfig, remote: RAGConfig) -> float:
    """Return the seconds that a server takes to write the points, as requests that are ready."""
    with get_document_store(config) as source, get_document_store(remote) as target:
        pages = source.point_pages(Page(500, vectors=True))
        bodies = [*point_requests(map(point_json, chain.from_iterable(pages)))]
        target.begin_writing()
        if source.embedding_dim:
            target.add_dense_space(source.embedding_dim)
    url = f"{remote.store.url}/collections/{remote.store.collection}/points"
    with httpx.Client(timeout=300) as client:
        started = time.perf_counter()
        for body in bodies:
            headers = {"Content-Type": "application/json"}
            client.put(url, content=body, params={"wait": "true"}, headers=headers)
        return time.perf_counter() - started


def _copy(remote: RAGConfig, home: Path) -> Measured:
    store = {"URL": remote.store.url, "COLLECTION": remote.store.collection, "TIMEOUT": 300}
    variables = environment(home, **{f"RAG_STORE__{name}": value for name, value in store.items()})
    command = [sys.executable, "-m", "rag", "index", "--to-server", "--quiet"]
    took = measure(command, variables, home, LIMIT)
    if took.code:
        raise SystemExit(took.output)
    return took


if __name__ == "__main__":
    main()
