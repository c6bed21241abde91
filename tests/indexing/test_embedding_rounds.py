"""Embedding by rounds: what was changed last comes first, and nobody waits for the index."""

from collections.abc import Callable
from pathlib import Path
from threading import Timer

import pytest
from test_embedding_runs import facts

from rag.config import RAGConfig
from rag.index.snapshots import IndexDirectory
from rag.indexing import chunk_embedding
from rag.indexing.chunk_embedding import embed_chunks
from rag.indexing.run import IndexRun
from rag.support.vector_digest import TEXTS

NOTES = {
    f"{number}.md": f"---\nmodified: 2026-01-0{number}\n---\n{number} is it\n"
    for number in range(1, 7)
}
NEWEST_FIRST = [f"{number}\n{number} is it" for number in range(6, 0, -1)]


@pytest.fixture
def work(write_notes) -> Path:
    return write_notes("work", NOTES)


@pytest.fixture
def settings(with_ollama) -> RAGConfig:
    return with_ollama()


@pytest.fixture
def run(settings, work) -> Callable[..., IndexRun]:
    """Index the notes, and embed for some time: `run(seconds=0)`."""

    def visit(progress=None, seconds: float | None = None, rebuild: bool = False) -> IndexRun:
        with IndexRun(settings, rebuild=rebuild) as run:
            run.index_vault("work", work)
            run.publish()
            embed_chunks(run, progress=progress, seconds=seconds)
        return run

    return visit


def sent(server) -> list[str]:
    return [text for text in server.inputs() if text not in ("a", *TEXTS)]


def embedded(config: RAGConfig) -> int:
    """How many chunks have a vector, as readers are told."""
    found = facts(config)
    return found.embedded if found else 0


def test_the_notes_that_were_modified_last_come_first(run, server):
    run()
    assert sent(server) == NEWEST_FIRST


def test_what_is_made_is_published_before_the_rest_is(run, server, settings, monkeypatch):
    monkeypatch.setattr(chunk_embedding, "_ROUND", 0.0)
    readable: list[int] = []
    server.fail("/api/embed", when=lambda request: readable.append(embedded(settings)))
    run()
    assert readable[-1] >= 3 and embedded(settings) == 6


def test_a_run_ends_in_time_and_the_next_one_goes_on(run, server, settings):
    report = run(seconds=0).report.embedding
    assert (report.made, report.left, report.is_complete) == (0, 6, False)
    assert embedded(settings) == 0
    report = run().report.embedding
    assert (report.made, report.left, report.is_complete) == (6, 0, True)


def test_vectors_that_are_known_take_no_time(run, server, settings):
    run()
    before = sent(server)
    report = run(seconds=0, rebuild=True).report
    assert embedded(settings) == 6 and sent(server) == before
    assert report.embedding is None or report.embedding.left == 0


def test_a_note_that_changes_meanwhile_is_indexed_without_waiting(
    run, server, settings, work, monkeypatch
):
    monkeypatch.setattr(chunk_embedding, "_ROUND", 0.0)
    changed: list[bool] = []

    def change(*_: int) -> None:
        if not changed:
            changed.append(True)
            (work / "new.md").write_text("---\nmodified: 2026-02-01\n---\nnews")
            assert run().report.notices == ["another process makes the vectors"]

    report = run(change).report.embedding
    assert changed and report.is_complete and embedded(settings) == 7
    texts = sent(server)
    assert sorted(texts) == sorted([*NEWEST_FIRST, "new\nnews"])
    assert texts.index("new\nnews") < len(texts) - 1, "the newest was the last"


def test_a_text_that_changes_meanwhile_keeps_no_vector_of_the_old(
    run, server, settings, work, monkeypatch
):
    changed: list[bool] = []

    def change(*_: int) -> None:
        if not changed:
            changed.append(True)
            (work / "6.md").write_text("---\nmodified: 2026-01-06\n---\nother words")
            run()

    assert run(change).report.embedding.made == 6
    assert sent(server).count("6\nother words") == 1 and embedded(settings) == 6


def test_a_renamed_or_moved_note_embeds_nothing(run, server, work, settings):
    (work / "kettle.md").write_text("# Kettle\n\nThe kettle boils water.\n")
    run()
    before = len(server.inputs())
    (work / "kettle.md").rename(work / "pot.md")
    (work / "deep").mkdir()
    (work / "pot.md").rename(work / "deep" / "pot.md")
    run()
    assert len(server.inputs()) == before and embedded(settings) == 7


def test_how_fast_it_was_is_kept_for_who_asks_how_long_it_takes(run, server, settings):
    assert run().report.embedding.rate > 0
    found = facts(settings)
    assert found and found.rate > 0 and found.lacking == 0


def test_a_lock_that_is_held_briefly_is_waited_for(tmp_path):
    held = IndexDirectory(tmp_path / "index").writing(brief=True)
    held.__enter__()
    Timer(0.2, lambda: held.__exit__(None, None, None)).start()
    with IndexDirectory(tmp_path / "index").writing():
        pass
