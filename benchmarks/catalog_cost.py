"""What the catalog of an index on a Qdrant server takes, for docs/scale.md.

    python benchmarks/catalog_cost.py --url http://127.0.0.1:6333 [--chunks 100000 1000000]

A manifest of made notes (eight chunks each) and made document frequencies are published as a run
publishes them, then another machine fetches them. Printed are seconds and bytes as they are sent.
Collections named `rag-benchmark-…` are made and deleted.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from rag.config import StoreConfig
from rag.index.frequencies import FREQUENCIES, Frequencies
from rag.index.manifest import Manifest
from rag.index.note_rows import ChunkKey, NoteRow
from rag.index.snapshots import MANIFEST, IndexDirectory
from rag.stores.server.catalog import Catalog, Head, refresh
from rag.stores.server.identity import new_id
from rag.stores.server.rest import RestClient

_CHUNKS = 8  # of a note
_WORDS = [f"word{n}" for n in range(20_000)]


class CountingClient(RestClient):
    """Counts what it sends and receives.

    Bytes are those of the bodies as JSON, which is what goes over the wire.
    """

    def __init__(self, settings: StoreConfig) -> None:
        super().__init__(settings)
        self.sent = 0

    def request(self, method: str, path: str, body: Any = None, **how: Any) -> Any:
        result = super().request(method, path, body, **how)
        points = body.get("points", []) if isinstance(body, dict) else []
        self.sent += sum(len(point["payload"].get("part", "")) for point in points)
        return result


def made_note(number: int) -> NoteRow:
    """Return a note as the manifest keeps it."""
    chance = random.Random(number)
    title = " ".join(chance.choices(_WORDS, k=4))
    chunks = [ChunkKey(str(uuid.UUID(int=number * 64 + n)), chance.randbytes(16)) for n in range(8)]
    path = f"folder {number % 300}/{title} {number}.md"
    return NoteRow(
        vault="made",
        path=path,
        file=path,
        size=chance.randrange(20_000),
        mtime_ns=chance.randrange(1 << 60),
        racy=False,
        hash=chance.randbytes(16),
        chunks=chunks,
        id=str(uuid.UUID(int=number)),
        title=title,
        tags=chance.choices(["work", "home", "travel", "ideas/new", "日記"], k=2),
        created="2026-01-01T10:00:00",
        modified="2026-01-01T10:00:00",
        links=dict.fromkeys(chance.choices(_WORDS, k=3), 7),
        lines=chance.randrange(400),
        indexed_at="2026-01-01T10:00:00+00:00",
    )


def made_frequencies(chunks: int) -> Frequencies:
    """Return counts of as many dimensions as that many chunks have: 203,000 at 5,742, and from
    there with the power .6 (measured on the help vaults: .52)."""
    size = int(203_000 * (chunks / 5_742) ** 0.6)
    chance = np.random.default_rng(1)
    dimensions = np.unique(chance.integers(0, 1 << 32, size, dtype=np.uint32))
    is_several = chance.random(len(dimensions)) < 0.6
    several = dimensions[is_several]
    counts = np.minimum(2 + chance.zipf(1.6, len(several)), chunks).astype(np.uint32)
    parts: list[Any] = [several, counts, dimensions[~is_several]]
    return Frequencies(chunks, *parts)


@contextmanager
def timed(what: str, client: CountingClient | None = None) -> Iterator[None]:
    """Print how long it took, and what was sent."""
    started, before = time.perf_counter(), client.sent if client else 0
    yield
    sent = f", {(client.sent - before) / 1e6:8.1f} MB sent" if client else ""
    print(f"  {what:36} {time.perf_counter() - started:7.2f} s{sent}", flush=True)


def measure(url: str, chunks: int, base: Path) -> None:
    """Print what publishing and fetching takes at a number of chunks."""
    settings = StoreConfig(url=url, collection=f"rag-benchmark-{uuid.uuid4()}", timeout=120)
    client = CountingClient(settings)
    catalog = Catalog(client)
    work, notes = base / "work", chunks // _CHUNKS
    work.mkdir()
    with Manifest.open_work(work / MANIFEST, is_synced=False) as manifest:
        manifest.commit_write(made_note(number) for number in range(notes))
    frequencies = made_frequencies(chunks)
    (work / FREQUENCIES).write_bytes(frequencies.to_bytes())
    sizes = {name: (work / name).stat().st_size / 1e6 for name in (MANIFEST, FREQUENCIES)}
    print(f"{chunks:,} chunks: manifest {sizes[MANIFEST]:,.0f} MB,", end=" ")
    print(f"frequencies {sizes[FREQUENCIES]:,.0f} MB", flush=True)
    reader = IndexDirectory(base / "reader")
    try:
        head = catalog.create(Head(new_id(), machine="made", name="made"))
        with timed("publishing", client):
            files = catalog.send(head, work, new_id())
            catalog.sweep(catalog.change(head, **files, points=chunks, revision=1))
        with timed("fetching"):
            refresh(settings, reader)
        with timed("asking whether there is a newer one"):
            refresh(settings, reader)
    finally:
        httpx.delete(f"{url}/collections/{settings.collection}.catalog", timeout=60)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    asked = parser.parse_args()
    for chunks in asked.chunks:
        with tempfile.TemporaryDirectory() as base:
            measure(asked.url, chunks, Path(base))


if __name__ == "__main__":
    main()
