"""Embedding the chunks of an index: no text twice, nothing lost, nothing mixed."""

import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from haystack import Document
from hypothesis import given, settings
from hypothesis import strategies as st

from ollama_server import Model, OllamaServer, refused
from property_examples import examples
from rag.config import EmbeddingConfig, OllamaConfig, RAGConfig
from rag.exceptions import ConnectionError, IndexUnavailableError, ModelMissingError
from rag.index import embedding_space
from rag.index.embedding_space import (
    VECTORS,
    Embedded,
    background_texts,
    read_background,
    read_embedded,
)
from rag.index.manifest import published_manifest
from rag.index.searchable_text import embedded_text
from rag.index.snapshots import IndexDirectory
from rag.indexing.chunk_embedding import embed_chunks
from rag.indexing.run import IndexRun
from rag.stores import get_document_store
from rag.support.disk_space import copy_tree
from rag.support.vector_digest import TEXTS

NOTES = {
    "kettle.md": "# Kettle\n\nThe kettle boils water.\n\n## Descaling\n\nUse vinegar.\n",
    "bread.md": "# Bread\n\nFlour, water and salt.\n",
    "tea.md": "# Tea\n\nSteep for four minutes.\n",
    "茶.md": "# 緑茶\n\n七十度の湯で淹れる。\n",
}
CHUNKS = 5


class Killed(BaseException):
    """Stands for `kill -9`: nothing of ours is to catch it."""


@pytest.fixture
def work(write_notes) -> Path:
    return write_notes("work", NOTES)


@pytest.fixture
def sent(server) -> Callable[[], list[str]]:
    """The texts that were sent since the last call, but for the probe that a run begins with."""
    seen = 0

    def since() -> list[str]:
        nonlocal seen
        fresh, seen = server.inputs()[seen:], len(server.inputs())
        return sorted(text for text in fresh if text not in ("a", *TEXTS))

    return since


def facts(config: RAGConfig) -> Embedded | None:
    """What readers are told of the embeddings."""
    with published_manifest(IndexDirectory(config.index_dir)) as manifest:
        return read_embedded(manifest)


def snapshot(config: RAGConfig) -> str | None:
    return IndexDirectory(config.index_dir).current()


_read: dict[tuple[Path, str | None], list[Document]] = {}


def documents(config: RAGConfig) -> list[Document]:
    """The chunks that readers see; to open an index with vectors takes .1 s, so each once."""
    if (key := (config.index_dir, snapshot(config))) not in _read:
        with get_document_store(config) as store:
            _read[key] = store.filter_documents()
    return _read[key]


def counts(config: RAGConfig) -> tuple[int, int, int, int]:
    """Chunks, embedded, unreadable and failed, as readers are told; true to the store."""
    told = facts(config)
    assert told
    embedded = [document.embedding is not None for document in documents(config)]
    assert (told.chunks, told.embedded) == (len(embedded), sum(embedded))
    return told.chunks, told.embedded, told.unreadable, told.failed


def vectors(config: RAGConfig) -> dict[str, list[float] | None]:
    """The embedding of every chunk that readers see, by its content."""
    return {str(d.content): d.embedding for d in documents(config)}


def is_made_by(model: Model, config: RAGConfig) -> bool:
    """Tell whether all vectors that readers see are this model's, each of its own text."""
    return all(
        document.embedding is not None
        and math.dist(
            document.embedding, model.vector(embedded_text(document.meta, document.content))
        )
        < 0.01
        for document in documents(config)
    )


def is_marked(config: RAGConfig) -> bool:
    """Tell whether the index takes some chunks for unembedded."""
    with published_manifest(IndexDirectory(config.index_dir)) as manifest:
        embedded = read_embedded(manifest)
        return embedded is not None and not embedded.is_complete


@pytest.fixture(scope="module")
def embedded_once(tmp_path_factory) -> Path:
    """A folder with `vaults/work`, `data` with the index of it, and `kept`, copies of the notes."""
    base = tmp_path_factory.mktemp("embedded")
    (base / "vaults" / "work").mkdir(parents=True)
    for path, text in NOTES.items():
        (base / "vaults" / "work" / path).write_text(text, "utf-8")
    shutil.copytree(base / "vaults", base / "kept")
    with OllamaServer([Model("bge-m3", 32)]) as server:
        ollama = OllamaConfig(url=server.url)
        config = RAGConfig(base / "data", embedding=EmbeddingConfig("ollama"), ollama=ollama)
        with IndexRun(config) as run:
            run.index_vault("work", base / "vaults" / "work")
            run.publish()
            embed_chunks(run)
    return base


class _Embedded:
    """Tests that begin with the notes and their vectors."""

    @pytest.fixture(autouse=True)
    def work(self, embedded_once, config) -> Path:
        shutil.rmtree(embedded_once / "vaults")
        shutil.copytree(embedded_once / "kept", embedded_once / "vaults")
        copy_tree(embedded_once / "data", config.data_dir)
        return embedded_once / "vaults" / "work"


class TestTheFirstTime:
    def test_every_chunk_is_embedded_once(self, work, embed, with_ollama, server, sent):
        report = embed(work=work)
        assert (report.embedding.made, report.embedding.reused) == (CHUNKS, 0)
        assert (report.published, report.incomplete) == (True, False)
        assert counts(with_ollama()) == (CHUNKS, CHUNKS, 0, 0)
        assert is_made_by(server.models["bge-m3"], with_ollama())
        assert len(sent()) == CHUNKS
        assert not is_marked(with_ollama())

    def test_the_words_are_complete_and_published_before_the_first_vector(
        self, work, embed, with_ollama, server
    ):
        found = []

        def look(request) -> bool:
            with get_document_store(with_ollama()) as store:
                found.append((store.count_documents(), store.count_embedded()))
            return False

        server.fail("/api/embed", when=look)
        embed(work=work)
        assert set(found) == {(CHUNKS, 0)}

    def test_progress_is_told_from_before_the_model_is_at_work_up_to_the_end(self, work, embed):
        told = []
        embed(work=work, progress=lambda *step: told.append(step))
        assert (told[0], told[-1]) == ((0, CHUNKS), (CHUNKS, CHUNKS))
        assert told == sorted(told)

    def test_without_the_model_the_words_are_published(
        self, work, embed, with_ollama, server, titles
    ):
        del server.models["bge-m3"]
        with pytest.raises(ModelMissingError, match="bge-m3"):
            embed(work=work)
        assert len(titles(with_ollama())) == 4
        assert facts(with_ollama()) is None

    def test_without_a_server_the_words_are_published(self, work, embed, with_ollama, titles):
        with refused() as url, pytest.raises(ConnectionError, match="does not answer"):
            embed(with_ollama(url=url), work=work)
        assert len(titles(with_ollama())) == 4


class TestNothingToDo(_Embedded):
    def test_nothing_is_asked_and_nothing_published(self, work, embed, with_ollama, server):
        before, asked = snapshot(with_ollama()), len(server.requests())
        report = embed(work=work)
        assert (report.embedding, report.published, report.touched) == (None, False, False)
        assert snapshot(with_ollama()) == before
        assert len(server.requests()) == asked

    def test_a_model_of_the_same_name_spelt_out_is_the_same(
        self, work, embed, with_ollama, server, sent
    ):
        asked = len(server.requests())
        spelt = with_ollama(embedding_model="bge-m3:latest")
        assert embed(spelt, work=work).embedding is None
        assert len(server.requests()) == asked
        (work / "new.md").write_text("new")
        assert embed(spelt, work=work).embedding.made == 1
        assert sent() == ["new\nnew"]


class TestOnlyWhatIsNew(_Embedded):
    def test_of_an_edited_note_only_the_changed_section(self, work, embed, with_ollama, sent):
        text = NOTES["kettle.md"].replace("vinegar", "lemon juice")
        (work / "kettle.md").write_text(text)
        report = embed(work=work)
        assert sent() == ["Kettle\nDescaling\nUse lemon juice."]
        assert (report.embedding.made, counts(with_ollama())[:2]) == (1, (CHUNKS, CHUNKS))

    @pytest.mark.parametrize("target", ["moved/kettle.md", "boiler.md"])
    def test_nothing_of_a_renamed_note(self, work, embed, with_ollama, server, target):
        asked = len(server.requests())
        (work / "moved").mkdir()
        (work / "kettle.md").rename(work / target)
        report = embed(work=work)
        assert (report.embedding, report.published) == (None, True)
        assert len(server.requests()) == asked
        assert is_made_by(server.models["bge-m3"], with_ollama())

    def test_nothing_when_the_index_is_made_anew(self, work, embed, with_ollama, server):
        asked, before = len(server.requests()), vectors(with_ollama())
        embed(rebuild=True, work=work)
        assert len(server.requests()) == asked
        after = vectors(with_ollama())
        assert after.keys() == before.keys()
        assert all(after[key] == pytest.approx(before[key], abs=1e-2) for key in before)
        assert counts(with_ollama()) == (CHUNKS, CHUNKS, 0, 0)

    def test_known_vectors_come_in_with_the_words_when_no_embedding_is_wanted(
        self, work, refresh, with_ollama
    ):
        (work / "kettle.md").rename(work / "boiler.md")
        (work / "tea.md").write_text(NOTES["tea.md"] + "\nNew words.\n")
        refresh(work=work)
        assert counts(with_ollama())[:2] == (CHUNKS, CHUNKS - 1)
        assert is_marked(with_ollama())


class TestAnotherModel(_Embedded):
    @pytest.fixture
    def other(self, with_ollama) -> RAGConfig:
        return with_ollama(embedding_model="all-minilm", multilingual="yes")

    def test_it_is_not_taken_unasked(self, work, embed, other, server, sent):
        with pytest.raises(IndexUnavailableError, match=r"bge-m3, not all-minilm") as caught:
            embed(other, work=work)
        assert "rag index --embed" in caught.value.hint
        assert sent() == []
        assert is_made_by(server.models["bge-m3"], other)

    def test_asked_for_it_embeds_all_without_reading_a_note(self, work, embed, other, server):
        for note in work.iterdir():
            note.unlink()
        report = embed(other, reembed=True)
        assert (report.embedding.made, report.published) == (CHUNKS, True)
        assert is_made_by(server.models["all-minilm"], other)
        found = facts(other)
        assert found and (found.space.model, found.space.dimension) == ("all-minilm", 48)

    @pytest.mark.parametrize("done", [1, pytest.param(3, marks=pytest.mark.slow)])
    def test_interrupted_it_mixes_nothing_and_goes_on(self, work, embed, other, server, done, sent):
        def stop(at: int, total: int) -> None:
            if at == done:
                raise Killed

        with pytest.raises(Killed):
            embed(other, reembed=True, work=work, progress=stop)
        assert counts(other)[1] == 0  # readers have none of the former model's beside the new
        assert len(sent()) >= done
        report = embed(other, work=work)
        assert report.embedding.made + report.embedding.reused == CHUNKS
        assert report.embedding.made <= CHUNKS - done  # what it had made is kept by text
        assert is_made_by(server.models["all-minilm"], other)
        assert counts(other) == (CHUNKS, CHUNKS, 0, 0)

    def test_other_weights_under_the_same_name_are_noticed(
        self, work, embed, with_ollama, server, sent
    ):
        server.models["bge-m3"] = pulled = Model("bge-m3", 32, digest="f" * 64)
        (work / "new.md").write_text("new")
        with pytest.raises(IndexUnavailableError, match="another version of bge-m3"):
            embed(work=work)
        assert sent() == []
        embed(reembed=True, work=work)
        assert is_made_by(pulled, with_ollama())

    def test_the_index_made_anew_still_says_whose_the_vectors_are(self, work, embed, other, server):
        with pytest.raises(IndexUnavailableError, match="bge-m3"):
            embed(other, rebuild=True, work=work)
        assert is_made_by(server.models["bge-m3"], other)


class TestInterrupted:
    @pytest.mark.parametrize("done", [pytest.param(1, marks=pytest.mark.slow), 4])
    def test_it_goes_on_where_it_stopped(self, work, embed, with_ollama, sent, done, server):
        def stop(at: int, total: int) -> None:
            if at == done:
                raise Killed

        with pytest.raises(Killed):
            embed(work=work, progress=stop)
        sent()
        report = embed(work=work)
        # The server may hear of the text that was on its way only now.
        assert (report.embedding.made, len(set(sent()))) == (CHUNKS - done, CHUNKS - done)
        assert is_made_by(server.models["bge-m3"], with_ollama())

    @pytest.mark.slow
    @pytest.mark.parametrize("done", [2, CHUNKS])
    def test_really_killed_it_has_lost_nothing(self, work, embed, with_ollama, server, sent, done):
        config = with_ollama()
        script = (
            "import os, signal; from pathlib import Path\n"
            "from rag.config import EmbeddingConfig, OllamaConfig, RAGConfig\n"
            "from rag.indexing.run import IndexRun\n"
            f"config = RAGConfig(data_dir=Path({str(config.data_dir)!r}),"
            " embedding=EmbeddingConfig('ollama'), ollama=OllamaConfig("
            f"url={config.ollama.url!r}, batch_tokens=1, max_in_flight=1))\n"
            "def stop(done, total):\n"
            f"    if done == {done}: os.kill(os.getpid(), signal.SIGKILL)\n"
            "from rag.indexing.chunk_embedding import embed_chunks\n"
            "with IndexRun(config) as run:\n"
            f"    run.index_vault('work', Path({str(work)!r})); run.publish()\n"
            "    embed_chunks(run, progress=stop)\n"
        )
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        ran = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True)
        assert ran.returncode == -signal.SIGKILL, ran.stderr
        assert len(vectors(config)) == CHUNKS  # by words it is whole
        sent()
        report = embed(work=work)
        assert (len(sent()), report.published) == (CHUNKS - done, True)
        assert counts(config) == (CHUNKS, CHUNKS, 0, 0)
        assert is_made_by(server.models["bge-m3"], config)

    def test_a_server_lost_in_the_middle_leaves_what_it_made(
        self, work, embed, with_ollama, server, sent
    ):
        server.fail("/api/embed", "drop", times=None, after=1 + 2)  # the probe, two texts
        with pytest.raises(ConnectionError):
            embed(work=work)
        assert counts(with_ollama()) == (CHUNKS, 2, 0, 0)
        server.heal()
        sent()
        assert embed(work=work).embedding.made == CHUNKS - 2
        assert len(sent()) == CHUNKS - 2


# Of each family; tests/clients/test_embedding.py has them all.
FAULTS = ("status", "missing", "overflow", "garbage", "cut", "endless", "dimension", "nan", "fewer")


class TestFaults:
    @pytest.mark.sampled
    @pytest.mark.parametrize("kind", FAULTS)
    def test_from_the_middle_on_the_index_stays_whole_and_the_next_run_mends_it(
        self, write_notes, embed, with_ollama, server, titles, kind
    ):
        work = write_notes("work", {name: NOTES[name] for name in ("bread.md", "tea.md", "茶.md")})
        config = with_ollama(read_timeout=0.2)
        server.fail("/api/embed", kind, times=None, after=1 + 1)
        try:
            report = embed(config, work=work)
        except ConnectionError as error:
            assert error.hint
        else:
            assert report.incomplete and report.embedding.failed
        assert len(titles(config)) == 3
        assert counts(config)[1] == 1
        server.heal()
        assert embed(config, work=work).embedding.made == 2
        assert counts(config) == (3, 3, 0, 0)
        assert is_made_by(server.models["bge-m3"], config)

    def test_a_poisoned_chunk_loses_no_other_and_is_tried_again_next_time(
        self, work, embed, with_ollama, server, sent
    ):
        config = with_ollama(batch_tokens=4096)
        server.poison("vinegar")
        report = embed(config, work=work)
        assert list(report.embedding.failed) == ["work/kettle.md:5"]
        assert (report.embedding.made, report.incomplete) == (CHUNKS - 1, True)
        assert counts(config) == (CHUNKS, CHUNKS - 1, 0, 1)
        sent()
        before = snapshot(config)
        report = embed(config, work=work)
        assert list(report.embedding.failed) == ["work/kettle.md:5"]
        assert all("vinegar" in text for text in sent())
        assert (report.published, snapshot(config)) == (False, before)
        server.heal()
        assert embed(config, work=work).embedding.made == 1
        assert counts(config) == (CHUNKS, CHUNKS, 0, 0)

    def test_a_text_longer_than_the_model_reads_is_embedded_in_parts(
        self, write_notes, embed, with_ollama, server
    ):
        server.models["bge-m3"] = Model("bge-m3", 32, 100)
        work = write_notes("work", {"long.md": "Long words of water. " * 100})
        assert not embed(work=work).embedding.failed
        assert counts(with_ollama())[:2] == (counts(with_ollama())[0],) * 2


class TestAModelThatReadsEnglishOnly:
    @pytest.fixture
    def english(self, with_ollama) -> RAGConfig:
        return with_ollama(embedding_model="all-minilm")

    def test_it_is_not_asked_for_japanese(self, work, embed, english, sent):
        report = embed(english, work=work)
        assert (report.embedding.unreadable, report.incomplete) == (1, False)
        assert not any("緑茶" in text for text in sent())
        assert counts(english) == (CHUNKS, CHUNKS - 1, 1, 0)
        found = facts(english)
        assert found and found.share == 1


class TestFilesThatAreHarmed(_Embedded):
    @pytest.fixture
    def cache(self, config) -> Path:
        return config.index_dir / VECTORS

    @pytest.mark.sampled
    @pytest.mark.parametrize("harm", ["garbage", "middle", "missing", "empty", "folder"])
    def test_without_the_kept_vectors_they_are_made_again(
        self, work, embed, with_ollama, server, cache, sent, harm
    ):
        raw = cache.read_bytes()
        cache.unlink()
        if harm == "folder":
            (cache / "x").mkdir(parents=True)
        elif harm != "missing":
            changed = {"garbage": b"\xa5" * 9000, "middle": raw[:4096] + b"\xa5" * 8192}
            cache.write_bytes(changed.get(harm, b""))
        report = embed(rebuild=True, work=work)
        assert (report.embedding.made, len(sent())) == (CHUNKS, CHUNKS)
        assert counts(with_ollama()) == (CHUNKS, CHUNKS, 0, 0)

    def test_a_lost_snapshot_is_made_again_with_its_vectors(self, work, embed, with_ollama, sent):
        directory = IndexDirectory(with_ollama().index_dir)
        shutil.rmtree(directory.path / str(directory.current()))
        (work / "tea.md").unlink()
        embed(work=work)
        assert sent() == []
        assert counts(with_ollama()) == (CHUNKS - 1, CHUNKS - 1, 0, 0)


@settings(max_examples=examples(4))
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 5)), max_size=5))
def test_whatever_happens_the_next_whole_run_ends_with_all_chunks_embedded(
    tmp_path_factory, server, with_ollama, steps
):
    """Steps: what note, what to do with it, and after how many chunks the run is killed."""
    base = tmp_path_factory.mktemp("any")
    work, config = base / "work", replace(with_ollama(), data_dir=base / "data")
    work.mkdir()
    (work / "kept.md").write_text("# zero\n\nzero")  # no step takes it away

    def run(last: int) -> None:
        def stop(done: int, total: int) -> None:
            if done == last:
                raise Killed

        with IndexRun(config) as run:
            run.index_vault("work", work, True)
            run.publish()
            embed_chunks(run, progress=stop)

    for note, what, last in steps:
        file = work / f"{note}.md"
        if what == 0:
            file.unlink(missing_ok=True)
        elif what == 1 and file.exists():
            file.rename(work / f"{note + 1}.md")
        else:
            file.write_text(f"# {note}\n\n{what}\n\n## b\n\nsame\n\n## c\n\n{what + note}")
        try:
            run(last)
        except Killed:
            continue
    run(-1)
    found = facts(config)
    assert found and found.embedded == found.chunks
    assert is_made_by(server.models["bge-m3"], config)
    asked = len(server.requests())
    run(-1)
    assert len(server.requests()) == asked


class TestWhatReadersAreTold:
    def test_notes_written_while_no_model_answers_do_not_count_as_unreadable(
        self, write_notes, refresh, embed, with_ollama
    ):
        config = with_ollama(embedding_model="all-minilm")
        work = write_notes("work", {f"{n}.md": f"# 緑茶{n}\n\n湯で淹れる。" for n in range(6)})
        (work / "tea.md").write_text("# Tea\n\nSteep for four minutes.")
        embed(config, work=work)
        assert counts(config) == (7, 1, 6, 0)
        for note in work.glob("[0-9].md"):
            note.write_text(f"# Bread {note.stem}\n\nFlour and water, kneaded {note.stem} times.")
        refresh(config, work=work)
        found = facts(config)
        assert (found.chunks, found.embedded, found.unreadable) == (7, 1, 0)
        assert found.share < 0.2

    def test_a_publish_that_fails_leaves_the_run_usable(self, work, with_ollama, monkeypatch):
        def fail(*_: object) -> None:
            raise IndexUnavailableError("no room")

        with IndexRun(with_ollama()) as run:
            run.index_vault("work", work)
            monkeypatch.setattr(
                "rag.stores.edge.document_store.QdrantEdgeDocumentStore.publish", fail
            )
            with pytest.raises(IndexUnavailableError, match="no room"):
                run.publish()
            monkeypatch.undo()
            run.publish()
        assert run.report.published


class TestSwitchingModels(_Embedded):
    def test_a_switch_that_came_to_nothing_is_taken_back(self, work, embed, with_ollama, server):
        server.fail("/api/embed", "drop", after=1, times=None)  # all but the probe
        with pytest.raises(ConnectionError):
            embed(with_ollama(embedding_model="all-minilm"), reembed=True, work=work)
        server.heal()
        assert facts(with_ollama()).embedded == 0
        report = embed(work=work)
        assert report.embedding.reused == CHUNKS
        assert is_made_by(server.models["bge-m3"], with_ollama())


class TestTextsOnAnything:
    """What nearness is measured against; see `rag.index.embedding_space`."""

    @pytest.fixture(autouse=True)
    def _small(self, monkeypatch) -> None:
        monkeypatch.setattr(embedding_space, "_FEW", 1)

    def test_a_model_is_asked_for_them_once(self, work, embed, with_ollama, sent):
        config = with_ollama()
        embed(config, work=work)
        assert set(background_texts().questions) <= {*sent()}
        with published_manifest(IndexDirectory(config.index_dir)) as manifest:
            made = read_background(manifest)
        assert made is not None and made.passages.shape[0] == len(background_texts().passages)
        embed(config, work=work)
        assert sent() == []
