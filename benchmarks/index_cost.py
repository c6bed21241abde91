"""What a first index costs, step by step, in processor seconds; and what qmd's does, if it is here.

    python benchmarks/index_cost.py [--notes 10000]

The steps are those of a process that builds a portion, all in this one. Then the engine's step
again, with points that hold nothing but their vectors: its part of what no Python can save.
The last rows are whole programs; what theirs holds beyond the steps is starting, the manifest,
and publishing.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from competitors import QMD, RAG, Competitor, competitors
from measuring import measure
from rag.config import IndexConfig
from rag.index.searchable_text import beside, indexed_text
from rag.indexing.note_reader import ReadNote, read_file
from rag.stores.base.points import Point, chunk_point
from rag.stores.edge.segments import build_segments
from rag.text.bm25_documents import DocumentEncoder
from rag.vault import NoteFile, scan_folder
from vaults import BYTES, make_vault

READ, WEIGH, POINTS, ENGINE = STEPS = (
    "reading and cutting notes",
    "weighing words",
    "making points",
    "the engine",
)
_BATCH_NOTES = 150
_LIMIT = 600.0  # seconds, of one program


class Steps:
    """Indexes the notes of a folder, and counts.

    :ivar seconds: processor seconds of each step.
    """

    def __init__(self, root: Path, whole: bool) -> None:
        """:param whole: with all that points hold, not their vectors alone."""
        self.root, self.whole = root, whole
        self.seconds = dict.fromkeys(STEPS, 0.0)
        self.chunks = 0

    def run(self, folder: Path) -> None:
        """Write segments into `folder`."""
        files = scan_folder(str(self.root), ()).notes
        started = time.process_time()
        build_segments(folder, self._batches(files))
        spent = time.process_time() - started
        self.seconds[ENGINE] = spent - sum(self.seconds.values())

    def _batches(self, files: Sequence[NoteFile]) -> Iterator[list[Point]]:
        encoder, config = DocumentEncoder(), IndexConfig()
        for start in range(0, len(files), _BATCH_NOTES):
            with self._step(READ):
                batch = files[start : start + _BATCH_NOTES]
                notes = [read_file(str(self.root), "notes", file, config) for file in batch]
            yield self._points(notes, encoder)

    def _points(self, notes: Sequence[ReadNote], encoder: DocumentEncoder) -> list[Point]:
        chunks = [pair for note in notes for pair in zip(note.chunks, note.metas, strict=True)]
        self.chunks += len(chunks)
        with self._step(WEIGH):
            texts = [indexed_text(meta, chunk.text) for chunk, meta in chunks]
            others = [beside(meta, chunk.text) for chunk, meta in chunks]
            vectors = encoder.encode(texts, others).vectors
        with self._step(POINTS):
            return [
                chunk_point(chunk.id, chunk.text, meta, vector)
                if self.whole
                else Point(chunk.id, {}, sparse=vector)
                for (chunk, meta), vector in zip(chunks, vectors, strict=True)
            ]

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        started = time.process_time()
        yield
        self.seconds[name] += time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=10_000)
    notes = parser.parse_args().notes
    gc.disable()  # as the processes do that build portions
    with tempfile.TemporaryDirectory() as base:
        vault = Path(base) / "vault"
        make_vault(vault, notes, notes * BYTES / 1e6)
        whole, bare = Steps(vault, whole=True), Steps(vault, whole=False)
        whole.run(Path(base) / "whole")
        bare.run(Path(base) / "bare")
        found, missing = competitors()
        programs = {name: _whole(found[name], vault) for name in (RAG, QMD) if name in found}
    rows = {**whole.seconds, "all steps": sum(whole.seconds.values())}
    rows["the engine, vectors alone"] = bare.seconds[ENGINE]
    rows |= {f"{name}, the whole program": seconds for name, seconds in programs.items()}
    print(f"{notes:,} notes, {whole.chunks:,} chunks")
    _print(rows, whole.chunks, programs.get(QMD))
    if QMD in missing:
        print(f"left out: {QMD}: {missing[QMD]}")


def _whole(program: Competitor, vault: Path) -> float:
    """Return the processor seconds of a whole program that indexes a vault."""
    with tempfile.TemporaryDirectory() as home:
        command = program.index(vault, Path(home))
        return measure(command.line, command.environment, command.folder, _LIMIT).cpu


def _print(rows: dict[str, float], chunks: int, compared: float | None) -> None:
    print(f"{'':28} {'CPU s':>7} {'us/chunk':>9}" + (f" {'÷ qmd':>6}" if compared else ""))
    for name, seconds in rows.items():
        ratio = f" {seconds / compared:6.2f}" if compared else ""
        print(f"{name:28} {seconds:7.2f} {seconds / chunks * 1e6:9.0f}{ratio}")


if __name__ == "__main__":
    main()
