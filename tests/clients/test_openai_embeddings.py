"""Vectors from servers that speak OpenAI's API: what is sent, and what becomes of odd answers."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedding_calls import embed
from ollama_server import Model
from openai_server import EMBEDDINGS, OpenAIServer, settings
from rag.clients.batch_embedder import pack
from rag.clients.factory import embedding_provider
from rag.clients.protocols import EmbeddedTexts
from rag.clients.servers import Endpoint
from rag.config import EmbeddingConfig, ModelsConfig
from rag.exceptions import ConfigError, ModelError
from rag.support.vector_digest import may_be_same
from rag.text.token_estimate import count_tokens
from tables import rows

NAME = "nomic-embed-text"
SMALL = Model("small", dimension=32, context=64)
TEXTS = [f"text number {n} about holds" for n in range(20)]


def expected(server: OpenAIServer, texts: list[str], model: str = NAME) -> list[list[float]]:
    known = server.models[model]
    prefix = "search_document: " if model == NAME else ""
    return [known.vector(prefix + text) for text in texts]


def found(batch: EmbeddedTexts) -> list[list[float]]:
    return [vector for _, vector in batch.vectors]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer([NAME, SMALL]) as running:
        yield running


# -- what is sent ----------------------------------------------------------------------


def test_documents_and_queries_have_the_prefixes_of_their_model(server):
    embeddings = embedding_provider(settings(server.url))
    [query] = embeddings.embed_query(["one"])
    [batch] = embeddings.embed_documents(["two"])
    embeddings.close()
    assert query and len(query) == 768 == len(batch.vectors[0][1])
    assert server.inputs() == ["search_query: one", "search_document: two"]


@rows(
    "url, base, root",
    ("http://h:1", "http://h:1/v1", "http://h:1"),
    ("http://h:1/", "http://h:1/v1", "http://h:1"),
    ("http://h:1/v1", "http://h:1/v1", "http://h:1"),
    ("http://h:1/v1/", "http://h:1/v1", "http://h:1"),
    ("https://h/openai/v1", "https://h/openai/v1", "https://h/openai"),
    ("https://h/v1beta/openai", "https://h/v1beta/openai", "https://h"),
    ("https://h/behind", "https://h/behind/v1", "https://h/behind"),
)
def test_an_address_may_have_the_version_or_not(url, base, root):
    endpoint = Endpoint("openai", "embedding", url, NAME)
    assert (endpoint.base, endpoint.root) == (base, root)


@given(st.lists(st.text(min_size=1, max_size=60), max_size=40), st.integers(1, 80))
def test_batches_hold_each_text_once_and_no_more_tokens_than_they_may(texts, most):
    batches = [*pack(texts, most)]
    assert [pair for batch in batches for pair in batch.items()] == [*enumerate(texts)]
    sizes = [sum(map(count_tokens, batch.values())) for batch in batches]
    assert all(size <= most or len(batch) == 1 for size, batch in zip(sizes, batches, strict=True))


# -- odd answers -----------------------------------------------------------------------


def test_vectors_are_put_in_order_by_their_index():
    with OpenAIServer([NAME], order="backwards") as server:
        assert found(embed(TEXTS, settings(server.url))) == expected(server, TEXTS)


def test_a_server_that_takes_few_texts_at_once_is_found_out_once(server):
    many = {"status": 422, "error": "batch size 5 > maximum allowed batch size 4"}
    server.fail(EMBEDDINGS, times=None, when=lambda request: len(request.inputs) > 4, **many)
    made = embed(TEXTS, settings(server.url, batch_tokens=50, max_in_flight=1))
    assert found(made) == expected(server, TEXTS)
    sizes = [len(request.inputs) for request in server.requests(EMBEDDINGS)]
    assert [size for size in sizes if size > 4] == sizes[:1] and len(sizes) > 5


# -- what is too long ------------------------------------------------------------------


@rows("tells", "props", "max_model_len", "info", "loaded", "show", "")
def test_the_length_that_a_model_reads_is_found_where_servers_tell_it(tells):
    with OpenAIServer([SMALL], tells=tells) as server:
        whole = embedding_provider(settings(server.url, "small")).identity(whole=True)
        assert (whole.name, whole.dimension) == ("small", 32)
        assert whole.limit == (64 if tells else 0)


def test_a_model_is_told_by_vectors_of_fixed_texts_for_the_api_has_no_digests():
    def digest(model: Model) -> str:
        with OpenAIServer([model]) as server:
            return embedding_provider(settings(server.url, "small")).identity(whole=True).digest

    first = digest(SMALL)
    assert first and first == digest(SMALL)
    assert not may_be_same(first, digest(replace(SMALL, digest="f" * 64)))


# -- a server that is busy, or fails ---------------------------------------------------


def test_a_query_waits_for_no_server_that_asks_for_long(server):
    server.fail(EMBEDDINGS, status=429, retry_after=30, times=None)
    embeddings = embedding_provider(settings(server.url))
    with pytest.raises(ModelError, match="again in 30 s"):
        embeddings.embed_query(["one"])
    embeddings.close()
    assert len(server.requests(EMBEDDINGS)) == 1


def test_a_server_is_asked_again_when_it_said_and_not_before(server):
    server.fail(EMBEDDINGS, status=429, retry_after=1, times=1)
    started = time.monotonic()
    embeddings = embedding_provider(settings(server.url))
    assert embeddings.embed_query(["one"])[0]
    embeddings.close()
    assert time.monotonic() - started >= 1


# -- what is lacking -------------------------------------------------------------------


def test_without_a_server_or_a_model_there_is_none_to_ask():
    bare = ModelsConfig(embedding=EmbeddingConfig("openai"))
    for config, lacking in (
        (bare, "a server: set embedding.url"),
        (
            replace(bare, embedding=EmbeddingConfig("openai", "http://127.0.0.1:9")),
            "a model: set embedding.model",
        ),
    ):
        embeddings = embedding_provider(config)
        assert (embeddings.is_configured, embeddings.lacking) == (False, lacking)
        for ask in (embeddings.check_configured, embeddings.check_listening):
            with pytest.raises(ConfigError) as caught:
                ask()
            assert "embedding.url and embedding.model" in caught.value.hint
        with pytest.raises(ConfigError):
            embeddings.embed_query(["one"])
