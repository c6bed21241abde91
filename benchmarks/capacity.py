"""What a chunk takes, and how long an exact search and one by graph take: for docs/scale.md.

    python benchmarks/capacity.py [--vaults FOLDER] [--vectors 100000] [--size 1024]

The vaults are indexed as `rag index` does it; "disk" is what the files of the index take, by
part. The second table writes made vectors, in clusters, into the embedded engine and asks for
the 100 nearest of 60 others, without a graph and with one of m = 16.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import qdrant_edge as qe

from rag.config import RAGConfig
from rag.indexing.run import IndexRun
from rag.stores import get_document_store

VAULTS = Path(__file__).resolve().parents[2] / "shared" / "data" / "vaults"


def measure_chunks(vaults: Path, folder: Path) -> None:
    """Print what the chunks of some vaults take."""
    config = RAGConfig(data_dir=folder)
    with IndexRun(config) as run:
        for vault in sorted(path for path in vaults.iterdir() if path.is_dir()):
            run.index_vault(vault.name, vault)
        run.publish()
    with get_document_store(config) as store:
        documents = store.filter_documents()
        home = store.directory.path / str(store.directory.current())
    words = [len(d.sparse_embedding.indices) for d in documents if d.sparse_embedding]
    payloads = [
        len(json.dumps({"content": d.content, "meta": d.meta}, ensure_ascii=False).encode())
        for d in documents
    ]
    print(f"{run.report.notes:,} notes, {len(documents):,} chunks; a chunk has, on average:")
    print(f"  {mean(words):8,.0f} dimensions of words (median {median(words):,.0f})")
    print(f"  {mean(payloads):8,.0f} bytes of payload, as JSON")
    for part, size in _by_part(home).most_common(6):
        print(f"  {size / len(documents):8,.0f} bytes on disk: {part}")


def _by_part(home: Path) -> Counter[str]:
    sizes: Counter[str] = Counter()
    for base, _, names in os.walk(home):
        parts = Path(base).relative_to(home).parts  # shard, segments, SEGMENT, part
        for name in names:
            part = parts[3] if len(parts) > 3 else parts[0] if parts else name
            sizes[part] += (Path(base) / name).lstat().st_blocks * 512
    return sizes


def measure_vectors(number: int, size: int, m: int, folder: Path) -> None:
    """Print the time of a query among made vectors, by a graph unless `m` is 0."""
    config = qe.EdgeConfig(
        vectors={
            "embedding": qe.EdgeVectorParams(
                size=size,
                distance=qe.Distance.Cosine,
                datatype=qe.VectorStorageDatatype.Float16,
            )
        },
        hnsw_config=qe.HnswIndexConfig(m=m, ef_construct=100, full_scan_threshold=1000),
        optimizers=qe.EdgeOptimizersConfig(indexing_threshold=1000, default_segment_number=1),
    )
    shard = qe.EdgeShard.create(str(folder), config)
    chance = np.random.default_rng(1)
    centres = chance.standard_normal((200, size))

    def made(count: int) -> Any:
        near = centres[chance.integers(0, len(centres), count)]
        return (near + 0.7 * chance.standard_normal((count, size))).astype(np.float32).tolist()

    for start in range(0, number, 1000):
        points = [qe.Point(start + at, {"embedding": v}, {}) for at, v in enumerate(made(1000))]
        shard.update(qe.UpdateOperation.upsert_points(points))
    started = time.perf_counter()
    shard.optimize()
    built = time.perf_counter() - started
    times = []
    for vector in made(70):
        started = time.perf_counter()
        query = qe.Query.Nearest(vector, using="embedding")
        shard.query(qe.QueryRequest(limit=100, query=query))
        times.append(time.perf_counter() - started)
    how = f"graph, m = {m}" if m else "exact"
    print(f"  {how:14} {median(times[10:]) * 1000:6.2f} ms a query, {built:6.1f} s to build")
    shard.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--vaults", type=Path, default=VAULTS)
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--size", type=int, default=1024)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.vaults.is_dir():
            measure_chunks(options.vaults, Path(folder) / "data")
        else:
            print(f"no vaults at {options.vaults}")
        print(f"{options.vectors:,} vectors of {options.size} numbers, 16 bits each:")
        for m in (0, 16):
            measure_vectors(options.vectors, options.size, m, Path(folder) / f"m{m}")


if __name__ == "__main__":
    main()
