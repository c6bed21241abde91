"""Models in ONNX on the user's disk: what their folder says, their vectors, and what is wrong."""

import os
import signal
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from onnx_models import DIMENSION, WORDS, cross_encoder, embedder, say
from rag.clients.factory import embedding_provider, rank
from rag.clients.local.onnx_model import OnnxEmbeddings
from rag.config import EmbeddingConfig, ModelsConfig, OllamaConfig
from rag.config.sections import RerankConfig
from rag.exceptions import ConfigError, ConnectionError, ModelError
from rag.support.installation import add_extra
from rag.support.vector_digest import may_be_same

BREAD, TRAIN = "flour oven", "rail ticket"


def settings(path: Path, **embedding) -> ModelsConfig:
    ollama = OllamaConfig(query_timeout=20, read_timeout=20)
    return ModelsConfig(
        embedding=EmbeddingConfig("onnx", path=str(path), **embedding), ollama=ollama
    )


def embedded(provider: OnnxEmbeddings, *texts: str) -> np.ndarray:
    batches = provider.embed_documents(texts)
    found = {at: vector for batch in batches for at, vector in batch.vectors}
    return np.array([found[at] for at in range(len(texts))])


def failures(provider: OnnxEmbeddings) -> list[str]:
    """Return why a text has no vector, or why none has."""
    try:
        batches = [*provider.embed_documents([BREAD])]
    except ModelError as error:
        return [str(error)]
    return [why for batch in batches for _, why in batch.failures]


def assert_query_fails(config: ModelsConfig, why: str) -> None:
    with closing(embedding_provider(config)) as provider, pytest.raises(ModelError, match=why):
        provider.embed_query(["bread"])


@pytest.fixture(autouse=True)
def here_or_apart(request) -> None:
    """Models run in the test's own process, but with `@pytest.mark.usefixtures("apart")`."""
    if "apart" not in request.fixturenames:
        request.getfixturevalue("models_here")


@pytest.fixture
def apart() -> None:
    """Models run in a process of theirs."""


@pytest.fixture
def model(tmp_path) -> Path:
    return embedder(tmp_path / "small")


@pytest.mark.usefixtures("apart")
def test_finds_the_text_whose_words_are_near(model):
    with closing(embedding_provider(settings(model))) as provider:
        documents = embedded(provider, BREAD, TRAIN, f"{TRAIN} {TRAIN} rail")
        [query] = provider.embed_query(["bread"])
    assert np.argmax(documents @ np.array(query)) == 0
    assert np.allclose(np.linalg.norm(documents, axis=1), 1)


def test_is_told_by_its_folder_and_by_vectors_of_fixed_texts(model):
    with closing(embedding_provider(settings(model))) as provider:
        brief, whole = provider.identity(), provider.identity(whole=True)
        assert (whole.name, whole.dimension) == ("small", DIMENSION)
        assert whole.digest.startswith(f"{brief.digest}~")


def test_files_of_a_repository_lie_above_the_folder_of_the_graph(tmp_path):
    model = embedder(tmp_path / "repository" / "onnx")
    (model.parent / "tokenizer.json").rename(tmp_path / "repository" / "tokenizer.json")
    provider = embedding_provider(settings(tmp_path / "repository"))
    provider.check_configured()
    assert provider.model == "repository"


class TestWhatTheFolderSays:
    @pytest.mark.parametrize(
        ("said", "first"),
        [
            ({}, False),
            ({"pooling_mode_mean_tokens": True}, False),
            ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, True),
        ],
    )
    def test_how_one_vector_comes_of_many(self, model, said, first):
        say(model.parent, "1_Pooling/config.json", **said)
        with closing(embedding_provider(settings(model))) as provider:
            bread, train = embedded(provider, BREAD, TRAIN)
        assert np.allclose(bread, train) is first  # both begin with [CLS]

    def test_what_is_put_before_texts(self, model):
        prompts = {"query": "query ", "document": "flour "}
        say(model.parent, "config_sentence_transformers.json", prompts=prompts)
        with closing(embedding_provider(settings(model))) as provider:
            made = provider.identity()
            assert (made.query_prefix, made.document_prefix) == ("query ", "flour ")
            [with_prefix] = embedded(provider, "oven")
        with closing(embedding_provider(settings(embedder(model.parent.parent / "b")))) as plain:
            assert np.allclose(with_prefix, embedded(plain, "flour oven")[0])

    @pytest.mark.parametrize(
        ("name", "facts"),
        [
            ("sentence_bert_config.json", {"max_seq_length": 4}),
            ("tokenizer_config.json", {"model_max_length": 4}),
            ("config.json", {"max_position_embeddings": 6, "model_type": "xlm-roberta"}),
        ],
    )
    def test_how_long_a_text_may_be(self, model, name, facts):
        say(model.parent, name, **facts)
        with closing(embedding_provider(settings(model))) as provider:
            assert provider.identity().limit == 4
            long, short = embedded(provider, "bread flour oven oven", "bread flour")
        assert np.allclose(long, short)

    def test_settings_count_more(self, model):
        say(model.parent, "1_Pooling/config.json", pooling_mode_mean_tokens=True)
        chosen = settings(model, pooling="last", dimension=4)
        with closing(embedding_provider(chosen)) as provider:
            bread, train = embedded(provider, BREAD, TRAIN)
        assert bread.shape == (4,) and np.allclose(bread, train)  # both end with [SEP]


class TestWhatIsWrong:
    """Each is a sentence; search is by words meanwhile."""

    @pytest.mark.parametrize("path", ["missing/model.onnx", "missing", "small/other.onnx"])
    def test_there_is_no_such_file(self, model, tmp_path, path):
        with pytest.raises(ConfigError, match="there is no file"):
            embedding_provider(settings(tmp_path / path)).check_configured()

    def test_there_is_no_tokenizer(self, model):
        (model.parent / "tokenizer.json").unlink()
        with pytest.raises(ConfigError, match=r"no tokenizer\.json beside"):
            embedding_provider(settings(model)).check_configured()

    def test_there_is_no_library(self, model, monkeypatch):
        monkeypatch.setattr("rag.clients.local.onnx_model.find_spec", lambda name: None)
        with pytest.raises(ConnectionError, match="not installed") as caught:
            embedding_provider(settings(model)).check_configured()
        assert caught.value.hint.endswith(add_extra("onnx"))

    @pytest.mark.parametrize("content", [b"", b"hello", b"\x08\x0a" * 400, None])
    def test_the_file_is_no_model_or_cut_short(self, model, content):
        model.write_bytes(model.read_bytes()[:-60] if content is None else content)
        with closing(embedding_provider(settings(model))) as provider:
            with pytest.raises(ModelError, match="cannot be loaded"):
                provider.embed_query(["bread"])
            assert "cannot be loaded" in failures(provider)[0]

    @pytest.mark.usefixtures("apart")
    def test_what_cannot_be_loaded_apart_ends_nothing_here(self, model):
        model.write_bytes(b"hello")
        with closing(embedding_provider(settings(model))) as provider:
            assert "cannot be loaded" in failures(provider)[0]

    @pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
    def test_the_vectors_are_no_numbers(self, tmp_path, value):
        rows = np.full((len(WORDS), DIMENSION), value, np.float32)
        with closing(embedding_provider(settings(embedder(tmp_path / "bad", rows)))) as provider:
            with pytest.raises(ModelError, match="no numbers, or zero"):
                provider.embed_query(["bread"])
            assert "no numbers, or zero" in failures(provider)[0]

    @pytest.mark.usefixtures("apart")
    def test_the_process_is_killed(self, model):
        with closing(embedding_provider(settings(model))) as provider:
            batches = provider.embed_documents(["bread"] * 200)
            first = next(batches)
            for process in children():
                os.kill(process, signal.SIGKILL)
            found = [first, *batches]
        assert sorted(at for batch in found for at, _ in batch.vectors) == [*range(200)]

    @pytest.mark.parametrize("content", ["", "{}", "[1", '{"model": {"type": "Strange"}}'])
    def test_the_tokenizer_is_none(self, model, content):
        (model.parent / "tokenizer.json").write_text(content)
        assert_query_fails(settings(model), "holds no tokenizer")


def children() -> list[int]:
    """Return the processes that this one has started."""
    own = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return [int(number) for number in own.read_text().split()]


class TestACrossEncoder:
    def test_scores_passages_by_what_they_share_with_the_query(self, tmp_path):
        config = ModelsConfig(rerank=RerankConfig(str(cross_encoder(tmp_path / "ranker"))))
        scores = rank(config, "bread oven", ["rail ticket", "oven", "bread oven"], 20)
        assert scores == [0, 1, 2]

    def test_is_refused_when_it_is_another_kind_of_model(self, model):
        config = ModelsConfig(rerank=RerankConfig(str(model)))
        with pytest.raises(ModelError, match="gives no scores"):
            rank(config, "bread", ["oven"], 20)


def test_another_pooling_is_another_model(model):
    say(model.parent, "1_Pooling/config.json", pooling_mode_cls_token=True)
    with closing(embedding_provider(settings(model))) as provider:
        first = provider.identity(whole=True).digest
    with closing(embedding_provider(settings(model, pooling="mean"))) as provider:
        brief, whole = provider.identity().digest, provider.identity(whole=True).digest
    assert not may_be_same(first, brief) and not may_be_same(first, whole)
