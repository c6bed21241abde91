"""The providers of models: Ollama as the first, and another in its place."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import pytest
from haystack import Pipeline
from haystack.dataclasses import Document

from index_fixtures import offline
from ollama_server import refused
from rag.app.doctor import CheckResult, Examination, check_servers, check_vectors, run_checks
from rag.clients.factory import chat_provider, embedding_provider
from rag.clients.protocols import EmbeddedTexts, ModelInfo, ServerView
from rag.config import ChatConfig, EmbeddingConfig, ModelsConfig, OllamaConfig
from rag.config.sections import EMBEDDING_PROVIDERS
from rag.exceptions import ConfigError, ConnectionError, IndexUnavailableError, ModelMissingError
from rag.index.embedding_space import Embedded, Space, other_model
from rag.pipelines import create_search_pipeline, search
from rag.search.query import Query
from rag.stores import get_document_store

EMBEDDER = "nomic-embed-text"


@pytest.fixture
def config(server) -> Callable[..., ModelsConfig]:
    def make(**given: Any) -> ModelsConfig:
        ollama = {"url": server.url, "embedding_model": EMBEDDER} | given
        return ModelsConfig(embedding=EmbeddingConfig("ollama"), ollama=OllamaConfig(**ollama))

    return make


class TestEmbeddings:
    def test_say_what_makes_them(self, config):
        embeddings = embedding_provider(config())
        whole, brief = embeddings.identity(whole=True), embeddings.identity()
        assert (whole.name, whole.dimension, whole.document_prefix) == (
            EMBEDDER,
            768,
            "search_document: ",
        )
        assert whole.limit > 0
        assert (brief.digest, brief.dimension) == (whole.digest, 0)
        assert len(whole.digest) == 64

    def test_know_what_they_read(self, config):
        english, every = (embedding_provider(config(multilingual=m)) for m in ("no", "yes"))
        assert english.reads_script("roll back") and every.reads_script("証明書の更新")
        assert not english.reads_script("renew the 証明書 today again and again")
        assert english.reads_script("renew the 証明書 today again and again", mostly=True)
        assert not english.reads_script("証明書の更新", mostly=True)


class TestChat:
    def test_says_why_there_is_none(self, config):
        with pytest.raises(ConfigError, match="switched off"):
            chat_provider(config(enabled=False)).find_chat_model(1.0)
        with pytest.raises(ModelMissingError, match="nobody"):
            chat_provider(config(chat_model="nobody")).find_chat_model(1.0)
        with refused() as nowhere, pytest.raises(ConnectionError):
            chat_provider(config(url=nowhere)).find_chat_model(1.0)


class Letters:
    """Vectors of the counts of two letters: an embedding provider of nobody's."""

    is_configured = True
    document_prefix = lacking = runtime = ""
    model = "letters"
    limit = 100

    def __init__(self, config: ModelsConfig) -> None:
        self.config = config

    def is_model(self, name: str) -> bool:
        return name == self.model

    def check_configured(self) -> None:
        """Be there."""

    def check_listening(self) -> None:
        """Answer at once."""

    def survey(self) -> list[ServerView]:
        server = ServerView("letters", "this process", "1.0", (self.model,))
        server.embedding = self.identity()
        return [server]

    def at(self, server: str, seconds: float) -> Self:
        assert server == "this process" and seconds > 0
        return self

    def identity(self, whole: bool = False) -> ModelInfo:
        return ModelInfo("letters", "d" * 64, self.limit, 2)

    def embed_query(self, texts: Sequence[str], dimension: int = 0) -> list[list[float] | None]:
        return [[float(text.count("a")), float(text.count("b"))] for text in texts]

    def embed_documents(self, texts, limit=0, dimension=0, patient=True):
        for at, text in enumerate(texts):
            yield EmbeddedTexts(vectors=[(at, self.embed_query([text])[0])])

    def reads_script(self, text: str, mostly: bool = False) -> bool:
        return True

    def close(self) -> None:
        """Do nothing."""


def test_another_provider_embeds_chunks_and_queries(tmp_path, monkeypatch, write_notes, embed):
    monkeypatch.setitem(EMBEDDING_PROVIDERS, "letters", (__name__, "Letters"))
    config = offline(tmp_path / "data", embedding=EmbeddingConfig("letters"))
    report = embed(config, v=write_notes("v", {"a.md": "aaaa aaa", "b.md": "bbbb bbb"}))
    assert report.embedding and report.embedding.made == 2
    with get_document_store(config) as store:
        pipeline = create_search_pipeline(store, config)
        found = search(pipeline, "b", mode="dense")
        assert [result.title for result in found.results] == ["b"]
        assert found.mode == "dense"
        pipeline.close()
        again = Pipeline.loads(pipeline.dumps(), allowed_modules=["rag"])
        embedder = again.get_component("query_embedder")
        assert isinstance(embedder.embeddings, Letters)
        asked = Query("aab", "aab", mode="dense")
        assert embedder.run(asked)["query"].embedding == [2.0, 1.0]
        embedder.document_store.close()
        with pytest.raises(IndexUnavailableError, match=r"by letters, not bge-m3"):  # of Ollama's
            search(create_search_pipeline(store, OllamaConfig()), "b", mode="dense")


def test_a_provider_that_does_not_exist_is_an_error_that_names_those_that_do(tmp_path):
    config = offline(tmp_path, embedding=EmbeddingConfig("gemini"), chat=ChatConfig("parrot"))
    with pytest.raises(ConfigError, match=r"embedding\.provider: .*'gemini'") as caught:
        embedding_provider(config)
    assert caught.value.hint == (
        "There are: builtin, ollama, onnx, openai, none. `rag config` lists all settings."
    )
    with pytest.raises(ConfigError, match=r"chat\.provider: .*'parrot'"):
        chat_provider(config)
    [check] = [check for check in run_checks(config) if check.name == "ollama"]
    assert check.status == "fail" and "'gemini'" in check.message


def look(examination: Examination) -> list[CheckResult]:
    checks = check_servers, check_vectors
    return [result for check in checks for result in check(examination)]


def test_doctor_and_the_index_ask_the_provider_that_is_set(tmp_path, monkeypatch):
    monkeypatch.setitem(EMBEDDING_PROVIDERS, "letters", (__name__, "Letters"))
    made = Space("Letters", "", 2, "")
    config = offline(tmp_path, embedding=EmbeddingConfig("letters"))
    letters = embedding_provider(config)
    assert not made.is_configured(letters)
    assert Space("letters", "", 2, "").is_configured(letters)
    assert "were made by Letters, not letters" in str(other_model(made, letters))
    sample = [Document(id="a", content="aab", embedding=[2.0, 1.0])]
    embedded = Embedded(Space("letters", "", 2, ""), 1, 1)
    examination = Examination(config, True, embedded, sample)
    checks = look(examination)
    assert [(check.name, check.status) for check in checks] == [
        ("letters", "pass"),
        ("ollama", "pass"),  # which is still to run chat models, and off
        ("embedding model", "pass"),
        ("vectors", "pass"),
        ("vector sample", "pass"),
    ]
    assert checks[0].message.startswith("1.0 at this process, 1 model")
    assert checks[1].message == "off (ollama.enabled = false): answers are quotations"
    assert "letters at this process" in checks[2].message
    assert "reads 100 tokens" in checks[2].message
    assert checks[4].facts["compared"] == 1
