"""What embedding costs `rag` itself: the processor time of the indexing process, per chunk.

    python benchmarks/embedding_overhead.py [--chunks 10000] [--dimension 1024] [--profile]

The vectors come from a server in another process, so what is measured is the reading of chunks,
the requests, the parsing of answers, and the writing of vectors. The last column compares with
the lexical index alone.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

from rag.config import EmbeddingConfig, OllamaConfig, RAGConfig
from rag.indexing.run import IndexRun

SUPPORT = Path(__file__).resolve().parents[1] / "tests" / "support"
AIM = 1.5  # milliseconds a chunk
_SERVER = """
    import sys; sys.path.insert(0, sys.argv[1])
    from ollama_server import Model, OllamaServer

    class Quick(Model):
        def vector(self, text):  # some of the text's own numbers; the model is not measured
            return [round((ord(c) % 97 - 48) / 1000, 7) for c in (text * 1024)[: self.dimension]]

    with OllamaServer([Quick("bge-m3", int(sys.argv[2]), 8192)]) as server:
        print(server.url, flush=True)
        server.closing.wait()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--dimension", type=int, default=1024)
    parser.add_argument("--profile", action="store_true", help="Show where embedding's time goes.")
    arguments = parser.parse_args()
    command = [sys.executable, "-c", dedent(_SERVER), str(SUPPORT), str(arguments.dimension)]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
    ):
        try:
            assert server.stdout
            ollama = OllamaConfig(url=server.stdout.readline().strip())
            config = RAGConfig(
                data_dir=Path(folder) / "data", embedding=EmbeddingConfig("ollama"), ollama=ollama
            )
            _write(Path(folder) / "notes", arguments.chunks)
            _measure(config, Path(folder) / "notes", arguments.profile)
        finally:
            server.kill()


def _write(root: Path, chunks: int) -> None:
    """Write a note for each chunk, of some 1,000 characters."""
    rng = random.Random(7)
    root.mkdir()
    words = [
        "".join(rng.choices("abcdefghijklmnoprstuvw", k=rng.randint(2, 9))) for _ in range(9999)
    ]
    for number in range(chunks):
        text = " ".join(rng.choices(words, k=155))
        (root / f"{number}.md").write_text(f"# Note {number}\n\n{text}.\n", "utf-8")


def _measure(config: RAGConfig, notes: Path, profile: bool) -> None:
    with IndexRun(config) as run:
        words = _timed(lambda: run.index_vault("notes", notes)) + _timed(run.publish)
        profiler = cProfile.Profile(time.thread_time) if profile else None
        made = _timed(run.embed, profiler)
        assert run.report.embedding and run.report.embedding.made == run.report.chunks
        chunks = run.report.chunks
    with IndexRun(config) as run:
        run.writer.prepare()
        run.writer.store.drop_embeddings()
        reused = _timed(lambda: run.embed(reembed=True))
        assert run.report.embedding and run.report.embedding.reused == chunks
    print(f"{chunks:,} chunks{'':14}{'CPU s':>8}{'ms/chunk':>10}{'/words':>8}")
    for name, spent in (("words", words), ("vectors, made", made), ("vectors, known", reused)):
        print(f"{name:26}{spent:8.2f}{1000 * spent / chunks:10.2f}{spent / words:8.2f}")
    print(f"aim: below {AIM} ms/chunk: {'met' if 1000 * made / chunks < AIM else 'MISSED'}")
    if profiler:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


def _timed(work: Callable[[], object], profiler: cProfile.Profile | None = None) -> float:
    """Return the processor seconds of this process, all its threads, that a piece of work takes."""
    started = time.process_time()
    if profiler:
        profiler.runcall(work)
    else:
        work()
    return time.process_time() - started


if __name__ == "__main__":
    main()
