"""Vectors on the command line: what `rag index` makes and says, and who searches by them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ollama_server import OllamaServer, refused


@pytest.fixture
def server(server, monkeypatch) -> OllamaServer:
    """An Ollama server that the settings point to, and soon give up."""
    monkeypatch.setenv("RAG_OLLAMA__QUERY_TIMEOUT", "0.5")
    return server


@pytest.fixture
def gone(server, monkeypatch) -> Iterator[None]:
    """Nobody answers at the configured address."""
    with refused() as url:
        monkeypatch.setenv("RAG_OLLAMA__URL", url)
        yield


@pytest.fixture
def embedded(server, notes, rag) -> Path:
    """The notes, indexed with vectors."""
    assert rag("index", "-q", notes).code == 0
    return notes


class TestIndex:
    def test_a_poisoned_chunk_is_named_and_the_code_is_5(self, rag, server, notes):
        server.poison("restore script")
        ran = rag("index", notes)
        assert ran.code == 5
        assert ran.err.startswith("rag: work/Backups.md:10: not embedded: ")
        assert "3 chunks embedded" in ran.out
        found = rag("index", "--json")
        assert (found.code, list(found.json["embedding"]["failed"])) == (5, ["work/Backups.md:10"])

    def test_another_model_is_told_and_search_goes_on_by_words(
        self, rag, embedded, monkeypatch, server
    ):
        monkeypatch.setenv("RAG_OLLAMA__EMBEDDING_MODEL", "all-minilm")
        ran = rag("index")
        assert ran.code == 0
        assert "made by bge-m3, not all-minilm" in ran.err and "rag index --embed" in ran.err
        ran = rag("search", "rolling back")
        assert (ran.code, "Rolling back" in ran.out) == (0, True)
        assert "made by bge-m3, not all-minilm" in ran.err and "search is by words" in ran.err
        assert rag("search", "rolling", "--mode", "hybrid").code == 3
        ran = rag("index", "--embed")  # the certificate is Japanese, which all-minilm cannot read
        assert (ran.code, "3 chunks embedded" in ran.out) == (0, True)
        assert rag("search", "rolling back", "--json").json["mode"] == "hybrid"


class TestIndexWithoutAServer:
    def test_the_words_do_and_it_says_so(self, rag, gone, notes):
        ran = rag("index", notes)
        assert (ran.code, ran.out[:6]) == (0, "3 new;")
        assert ran.err.startswith("rag: no embeddings: Ollama does not answer at ")
        assert "`ollama serve`" in ran.err
        assert rag("search", "rolling back").code == 0

    def test_asked_for_they_are_missed_with_4_and_the_words_are_there(self, rag, gone, notes):
        ran = rag("index", notes, "--embed")
        assert (ran.code, ran.out) == (4, "")
        assert "does not answer" in ran.err and "Traceback" not in ran.err
        assert rag("search", "rolling back").code == 0
        assert rag("index", "--embed", "--json").json["error"]["kind"] == "connection"

    def test_a_server_lost_in_the_middle_is_a_notice_and_asked_for_a_4(self, rag, server, notes):
        server.fail("/api/embed", "drop", times=None, after=1)
        ran = rag("index", notes)
        assert (ran.code, "no embeddings: " in ran.err) == (0, True)
        assert rag("index", "--embed").code == 4
        server.heal()
        assert "4 chunks embedded" in rag("index").out


class TestSearch:
    def test_a_fallback_is_told_on_stderr_in_the_json_and_not_when_quiet(
        self, rag, embedded, server
    ):
        server.fail("/api/embed", "status", times=None)
        ran = rag("search", "rolling back")
        assert (ran.code, "search is by words: " in ran.err) == (0, True)
        assert "by words" not in ran.out
        assert rag("search", "rolling back", "-q").err == ""
        found = rag("search", "rolling back", "--json")
        assert found.json["mode"] == "lexical"
        assert found.json["notices"][0].startswith("search is by words: ")

    @pytest.mark.parametrize("mode", ["dense", "hybrid"])
    def test_asked_for_a_fault_is_an_error_without_a_trace(self, rag, embedded, server, mode):
        server.fail("/api/embed", "garbage", times=None)
        ran = rag("search", "rolling back", "--mode", mode)
        assert (ran.code, ran.out, "Traceback" in ran.err) == (4, "", False)
        assert not [path for path in Path.home().rglob("*") if path.is_file()]  # no snapshot
        error = rag("search", "rolling", "--mode", mode, "--json").json["error"]
        assert error["kind"] == "model"
