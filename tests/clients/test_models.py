"""What is known of models by name, by configuration, and from the server."""

from contextlib import closing

import pytest

from ollama_server import OllamaServer
from rag.clients.dialects import OllamaClient
from rag.clients.models import (
    ModelInfo,
    Traits,
    can_write,
    chosen_traits,
    does_other_work,
    known_traits,
)
from rag.clients.servers import Endpoint
from rag.config import OllamaConfig
from rag.exceptions import ModelMissingError
from tables import rows

SENTENCE = "Represent this sentence for searching relevant passages: "
TASK = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)


@rows(
    "name, query, document, multilingual",
    ("nomic-embed-text", "search_query: ", "search_document: ", False),
    ("nomic-embed-text:v1.5", "search_query: ", "search_document: ", False),
    ("nomic-embed-text-v2-moe", "search_query: ", "search_document: ", True),
    ("mxbai-embed-large:335m", SENTENCE, "", False),
    ("bge-large", SENTENCE, "", False),
    ("hf.co/CompendiumLabs/bge-small-en-v1.5-gguf:q8_0", SENTENCE, "", False),
    ("bge-large-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", "", False),
    ("bge-m3:567m", "", "", True),
    ("jeffh/intfloat-multilingual-e5-large:f16", "query: ", "passage: ", True),
    ("multilingual-e5-large-instruct", f"{TASK} ", "", True),
    ("e5-large-v2", "query: ", "passage: ", False),
    ("embeddinggemma:300m", "task: search result | query: ", "title: none | text: ", True),
    ("qwen3-embedding:0.6b", TASK, "", True),
    ("Qwen3-Embedding", TASK, "", True),
    ("all-minilm:33m", "", "", False),
    ("snowflake-arctic-embed:22m", SENTENCE, "", False),
    ("snowflake-arctic-embed-m-v1.5", SENTENCE, "", False),
    ("snowflake-arctic-embed2", "query: ", "", True),
    ("snowflake-arctic-embed-l-v2.0", "query: ", "", True),
    ("paraphrase-multilingual", "", "", True),
    ("granite-embedding:30m", "", "", False),
    ("granite-embedding:278m", "", "", True),
)
def test_models_known_by_name(name, query, document, multilingual):
    assert known_traits(name) == Traits(query, document, multilingual)


def test_a_name_that_is_not_known_gets_no_prefix_and_reads_english_only():
    assert known_traits("my-own") is None
    assert chosen_traits("my-own", OllamaConfig()) == Traits()


@rows("setting, reads", ("auto", False), ("yes", True), ("no", False))
def test_the_settings_win_over_what_is_known(setting, reads):
    config = OllamaConfig(query_prefix="Q: ", document_prefix="", multilingual=setting)
    assert chosen_traits("all-minilm", config) == Traits("Q: ", "", reads)


def client_of(server: OllamaServer, model: str = "nomic-embed-text") -> OllamaClient:
    return OllamaClient(Endpoint("ollama", "embedding", server.url, model), OllamaConfig())


def pick(server: OllamaServer, seconds: float = 5.0) -> ModelInfo:
    with closing(client_of(server, "auto")) as client:
        return client.find_writer(seconds)


def test_what_the_server_says(server):
    with closing(client_of(server)) as client:
        found = client.describe_embedder(5.0)
        assert found.digest == server.models["nomic-embed-text"].digest
        assert (found.dimension, found.capabilities) == (768, ("embedding",))
        assert (found.context, found.num_ctx, found.limit) == (2048, 8192, 2048)
        assert client.describe("all-minilm").limit == 256
        assert "thinking" in client.describe("qwen3").capabilities
        with pytest.raises(ModelMissingError, match="no model bge-m3"):
            client.describe("bge-m3")


# -- the chat model that nobody named --------------------------------------------------


def test_the_first_listed_model_that_completes_is_picked(server):
    assert (pick(server).name, pick(server).context) == ("llama3.2:latest", 131072)


def test_without_one_the_error_says_how_to_get_one():
    for models in ([], ["bge-m3"]):
        with OllamaServer(models) as server:
            with pytest.raises(ModelMissingError, match="no model that writes") as caught:
                pick(server)
            assert "ollama pull" in caught.value.hint


# -- which models write, by what their server says of them and by their names --------------


@rows(
    "name, capabilities, family, writes",
    ("llama3.2", ("completion", "tools"), "llama", True),
    ("llava", ("completion", "vision"), "llama", True),
    ("llava", ("vision",), "llama", False),
    ("chatty", ("embedding",), "llama", False),
    ("Qwen3-Reranker-0.6B", ("completion", "tools"), "qwen3", False),
    ("hf.co/Qwen/Qwen3-Embedding-0.6B-GGUF", ("completion",), "qwen3", False),
    ("embed-and-chat", ("embedding", "completion"), "", True),
    ("albert-chat", ("completion",), "llama", True),
    ("mistral", (), "llama", True),
    ("mistral", (), "", True),
    ("x-e5-large", (), "", False),
    ("some", (), "nomic-bert", False),
    ("bge-reranker-v2-m3", (), "", False),
    ("qwen2.5-vl-7b-instruct", (), "", True),
    ("whisper-large-v3", (), "", False),
)
def test_what_writes(name, capabilities, family, writes):
    assert can_write(ModelInfo(name, capabilities=capabilities, family=family)) is writes


@rows(
    "name", "gpt-4o-mini-tts", "text-embedding-3-small", "omni-moderation-latest", "clip-vit-l-14"
)
def test_names_of_models_for_other_work(name):
    assert does_other_work(name)
