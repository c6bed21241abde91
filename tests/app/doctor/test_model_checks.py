"""What `rag doctor` finds of servers of models, of their models, and of the vectors of an index."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest
from haystack import Document

from ollama_server import Model, OllamaServer, refused
from openai_server import EMBEDDINGS, OpenAIServer
from rag.app.doctor import CheckResult, Examination, check_servers, check_vectors
from rag.config import ChatConfig, EmbeddingConfig, OllamaConfig, RAGConfig, SearchConfig
from rag.index.embedding_space import TEXT_VERSION, Embedded, Space
from rag.index.searchable_text import embedded_text
from tables import rows

CHECKS = check_servers, check_vectors
EMBED, CHAT = "nomic-embed-text", "llama3.2"
PREFIX = "search_document: "
MODELS = [EMBED, CHAT, "all-minilm"]


def examine(config: RAGConfig, **known: Any) -> list[CheckResult]:
    examination = Examination(config, **known)
    return [result for check in CHECKS for result in check(examination)]


def statuses(results: list[CheckResult]) -> list[tuple[str, str]]:
    return [(result.name, result.status) for result in results]


@dataclass
class Models:
    """Runs the checks against a server of Ollama, for an index with or without vectors."""

    server: OllamaServer

    def run(
        self,
        index: dict[str, Any] | None = None,
        mode: str = "auto",
        chosen: str = "",
        **ollama: Any,
    ) -> dict[str, CheckResult]:
        given = {"url": self.server.url, "embedding_model": EMBED, "query_timeout": 5.0}
        config = RAGConfig(
            embedding=EmbeddingConfig("ollama"),
            ollama=OllamaConfig(**given | {"connect_timeout": 2.0} | ollama),
            search=SearchConfig(mode=mode),
            origins={chosen: "rag.toml"},
        )
        return {result.name: result for result in examine(config, **index or {})}

    def index(self, **facts: Any) -> dict[str, Any]:
        """What is known of an index of two chunks with vectors of the server's model."""
        model = self.server.models[EMBED]
        meta = {"title": "Title", "heading": ["Title", "Part"]}
        sample = []
        for at in range(2):
            text = f"text {at}"
            vector = model.vector(PREFIX + embedded_text(meta, text))
            sample.append(Document(id=str(at), content=text, meta=meta, embedding=vector))
        embedded = {"model": EMBED, "digest": model.digest, "dimension": 768, "embedded": 2}
        embedded |= {"chunks": 2, "document_prefix": PREFIX, "provider": "ollama", **facts}
        names = [item.name for item in fields(Space)]
        space = Space(**{name: embedded.pop(name) for name in names if name in embedded})
        return {"has_index": True, "embedded": Embedded(space, **embedded), "sample": sample}


@pytest.fixture
def models(server) -> Models:
    return Models(server)


class TestServers:
    def test_switched_off_it_is_one_line(self, models):
        found = models.run(models.index(), enabled=False)
        assert statuses([*found.values()]) == [("ollama", "pass"), ("vectors", "pass")]
        assert models.server.requests() == []

    @rows("mode, status", ("auto", "warn"), ("lexical", "warn"), ("hybrid", "fail"))
    def test_one_that_is_down_is_a_failure_where_search_insists(self, models, mode, status):
        with refused() as url:
            found = models.run(models.index(), mode, url=url)
        assert found["ollama"].status == status and "ollama serve" in found["ollama"].hint
        assert set(found) == {"ollama", "vectors"}

    def test_each_has_its_line_and_is_asked_for_what_it_is_chosen_for(self, models):
        with OllamaServer([EMBED, CHAT]) as other, refused() as down:
            urls = [models.server.url, other.url, down]
            ollama = OllamaConfig(embedding_model=EMBED, urls=urls, generation_url=other.url)
            config = RAGConfig(embedding=EmbeddingConfig("ollama"), ollama=ollama)
            assert statuses(examine(config)) == [
                *(("ollama", "pass"), ("ollama", "pass"), ("ollama", "warn")),
                *(("embedding model", "pass"), ("embedding model", "pass"), ("chat model", "pass")),
            ]
        requests = models.server.requests("/api/show")
        assert {request.json["model"] for request in requests} == {EMBED}

    @pytest.mark.parametrize(
        ("path", "kind", "name"),
        [
            *(("/api/version", "html", "ollama"), ("/api/tags", "status", "ollama")),
            *(("/api/show", "html", "embedding model"), ("/api/embed", "status", "vector sample")),
            *(("/api/embed", "nan", "vector sample"), ("/api/embed", "fewer", "vector sample")),
        ],
    )
    def test_a_fault_is_one_clear_line(self, models, path, kind, name):
        models.server.fail(path, kind, times=None)
        found = models.run(models.index(), retries=5)
        assert found[name].status in ("warn", "fail")
        assert all(r.hint and "\n" not in r.message for r in found.values() if r.status != "pass")
        assert path != "/api/embed" or len(models.server.requests(path)) == 1  # not tried again


class TestModels:
    @pytest.mark.parametrize(("chosen", "status"), [("", "warn"), ("ollama", "fail")])
    def test_one_that_is_missing_is_a_failure_where_the_user_chose_it(self, models, chosen, status):
        for kind in ("embedding", "chat"):
            setting = f"{kind}_model"
            found = models.run(chosen=chosen and f"{chosen}.{setting}", **{setting: "bge-m3"})
            result = found[f"{kind} model"]
            assert (result.status, result.hint) == (status, "`ollama pull bge-m3`")

    def test_without_a_fixed_chat_model_the_first_that_can_is_named(self):
        with OllamaServer([Model("my-reranker", capabilities=("embedding",)), CHAT]) as server:
            result = Models(server).run(chat_model="auto")["chat model"]
            assert result.status == "pass" and result.facts["model"] == f"{CHAT}:latest"
            assert result.facts["fixed"] is False
            del server.models[CHAT]
            result = Models(server).run()["chat model"]
            assert result.status == "warn" and "ollama pull" in result.hint

    def test_those_of_the_wrong_kind_fail(self, models):
        found = models.run(embedding_model=CHAT, chat_model="all-minilm")
        assert found["embedding model"].status == found["chat model"].status == "fail"
        assert "gives no vectors" in found["embedding model"].message
        assert "writes no answers" in found["chat model"].message

    @rows(
        "facts, message",
        ({"dimension": 1024}, "768 dimensions, the index has 1,024"),
        ({"digest": "0" * 64}, ""),
    )
    def test_another_than_made_the_vectors_fails(self, models, facts, message):
        result = models.run(models.index(**facts))["embedding model"]
        assert result.status == "fail" and message in result.message
        assert "rag index --embed" in result.hint


class TestVectors:
    @pytest.mark.parametrize(("mode", "status"), [("auto", "pass"), ("dense", "fail")])
    def test_without_any_search_is_by_words(self, models, mode, status):
        result = models.run({"has_index": True}, mode)["vectors"]
        assert result.status == status and "search is by words" in result.message
        assert "rag index --embed" in result.hint

    @rows(
        "facts, status, message",
        ({"model": "bge-m3"}, "fail", "made by bge-m3"),
        ({"document_prefix": "passage: "}, "fail", "another prefix"),
        ({"version": TEXT_VERSION - 1}, "fail", "another version"),
        ({"chunks": 9, "unreadable": 3}, "warn", "4 chunks without a vector"),
        ({"chunks": 5, "unreadable": 3}, "pass", "3 are in a script"),
        ({"embedded": 0}, "warn", "0 of 2 chunks"),
    )
    def test_what_made_them_and_how_many_there_are(self, models, facts, status, message):
        result = models.run(models.index(**facts))["vectors"]
        assert result.status == status and message in result.message
        assert status == "pass" or ("--embed" in result.hint) == (status == "fail")

    def test_some_are_made_again_and_compared(self, models):
        index = models.index()
        index["sample"] *= 20
        result = models.run(index)["vector sample"]
        assert (result.status, result.facts["compared"]) == ("pass", 8)
        assert len(models.server.inputs()) == 8
        other = replace(index["sample"][1], content="something else altogether")
        index["sample"] = [index["sample"][0], other]
        result = models.run(index)["vector sample"]
        assert result.status == "fail" and "1 of 2 vectors" in result.message
        index["sample"] = []
        assert "vector sample" not in models.run(index)


class TestOpenAI:
    @pytest.fixture
    def openai(self) -> Iterator[OpenAIServer]:
        with OpenAIServer([Model(EMBED, 32), CHAT]) as running:
            yield running

    def settings(self, url: str, model: str = EMBED, chat: str = CHAT) -> RAGConfig:
        return RAGConfig(
            embedding=EmbeddingConfig("openai", url, model),
            chat=ChatConfig("openai", url, chat),
            ollama=OllamaConfig(query_timeout=5.0, retries=0),
            origins={"embedding.model": "rag.toml", "chat.model": "rag.toml"},
        )

    def test_one_server_for_both_has_one_line_and_its_models_one_each(self, openai):
        results = examine(self.settings(openai.url))
        names = ["openai", "embedding model", "chat model"]
        assert statuses(results) == [(name, "pass") for name in names]
        assert results[0].message.startswith(f"at {openai.url}, 2 models, ")
        assert "32 dimensions, reads 2,048 tokens" in results[1].message
        assert len(openai.requests(EMBEDDINGS)) == 1  # it costs little
