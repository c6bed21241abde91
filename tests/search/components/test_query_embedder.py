"""`QueryEmbedder`: whether a query is searched by meaning too, and what is said when it is not."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from disk_files import write_all
from ollama_server import Model, OllamaServer, refused
from rag.config import OllamaConfig, RAGConfig, models_config
from rag.exceptions import ConfigError, ConnectionError, IndexUnavailableError, RAGError
from rag.indexing.chunk_embedding import embed_chunks
from rag.indexing.run import IndexRun
from rag.search.components.query_embedder import QueryEmbedder
from rag.search.query import Query
from rag.stores import get_document_store

NOTES = {"a.md": "# Alpha\n\nfirst", "b.md": "# Beta\n\nsecond", "c.md": "# Gamma\n\nthird"}
WANTED = ["dense", "hybrid"]


@pytest.fixture(scope="session")
def indexes(tmp_path_factory) -> dict[str, Path]:
    """Data folders: `whole`, `part` (two of three chunks), `none`, `english` (one chunk is not)."""
    base = tmp_path_factory.mktemp("indexes")
    with OllamaServer([Model("bge-m3", 32), Model("all-minilm", 48, 512)]) as server:
        quick = OllamaConfig(url=server.url, retries=0, batch_tokens=1, max_in_flight=1)
        for name in ("whole", "part", "none", "english"):
            notes = NOTES | ({"d.md": "# 緑茶\n\n茶"} if name == "english" else {})
            model = "all-minilm" if name == "english" else "bge-m3"
            ollama = replace(quick, embedding_model=model)
            with IndexRun(RAGConfig(data_dir=base / name, ollama=ollama)) as run:
                run.index_vault("notes", write_all(base / "vaults" / name, notes))
                run.publish()
                if name == "part":
                    server.fail("/api/embed", "drop", times=None, after=1 + 2)
                    with pytest.raises(ConnectionError):
                        embed_chunks(run)
                    server.heal()
                elif name != "none":
                    embed_chunks(run)
    return {path.name: path for path in base.iterdir()}


@pytest.fixture
def embedder(indexes, with_ollama) -> Callable[..., object]:
    """Make the component: `with embedder("whole", url=…) as component`."""

    @contextmanager
    def make(index: str = "whole", **changes: object) -> Iterator[QueryEmbedder]:
        config = replace(with_ollama(**changes), data_dir=indexes[index])
        with get_document_store(config) as store:
            component = QueryEmbedder(store, config.ollama)
            try:
                yield component
            finally:
                component.close()

    return make


def run(component: QueryEmbedder, text: str = "alpha", mode: str = "auto", **given: Any) -> Query:
    query: Query = component.run(Query(text, text, mode=mode, **given))["query"]
    return query


def refusal(component: QueryEmbedder, mode: str, text: str = "alpha") -> RAGError:
    with pytest.raises(RAGError) as caught:
        run(component, text, mode)
    assert caught.value.hint
    return caught.value


def by_words(component: QueryEmbedder, text: str = "alpha") -> str:
    """Search in mode `auto`, make sure that it is by words, and return what is said."""
    query = run(component, text)
    assert (query.embedding, query.mode) == (None, "lexical")
    return "; ".join(query.notices)


@pytest.mark.parametrize(
    ("mode", "comes_to"), [("auto", "hybrid"), ("hybrid", "hybrid"), ("dense", "dense")]
)
def test_where_nothing_stands_in_the_way_the_query_is_embedded(embedder, server, mode, comes_to):
    with embedder(query_prefix="query: ") as component:
        query = run(component, mode=mode)
    assert (query.mode, query.notices) == (comes_to, [])
    assert query.embedding == server.models["bge-m3"].vector("query: alpha")
    assert server.inputs() == ["query: alpha"]


@pytest.mark.parametrize("index", ["whole", "none"])
def test_by_words_nothing_is_asked(embedder, server, index):
    with embedder(index) as component:
        assert run(component, mode="lexical").notices == []
    assert server.requests() == []


class TestTheIndexStandsInTheWay:
    def test_without_embeddings_auto_is_silent(self, embedder, server):
        with embedder("none") as component:
            assert by_words(component) == ""
        assert server.requests() == []

    @pytest.mark.parametrize("mode", WANTED)
    def test_without_embeddings_the_rest_is_refused(self, embedder, mode):
        with embedder("none") as component:
            error = refusal(component, mode)
        assert isinstance(error, IndexUnavailableError)
        assert "`rag index`" in error.hint

    def test_of_another_model_auto_says_so(self, embedder, server):
        with embedder(embedding_model="all-minilm") as component:
            notice = by_words(component)
        assert "made by bge-m3, not all-minilm" in notice
        assert "rag index --embed" in notice
        assert server.inputs() == []

    def test_of_another_prefix_auto_says_so(self, embedder):
        with embedder(document_prefix="passage: ") as component:
            assert "another version of bge-m3" in by_words(component)

    @pytest.mark.parametrize("mode", ["auto", *WANTED])
    def test_of_other_weights_under_the_same_name(self, embedder, server, mode):
        server.models["bge-m3"] = Model("bge-m3", 32, digest="f" * 64)
        with embedder() as component:
            if mode == "auto":
                said = by_words(component)
            else:
                error = refusal(component, mode)
                assert isinstance(error, IndexUnavailableError)
                said = str(error)
        assert "another version of bge-m3" in said
        assert server.inputs() == []

    @pytest.mark.parametrize("mode", ["auto", "hybrid", "dense"])
    def test_of_an_index_embedded_in_part_it_says_what_is_not_found(self, embedder, mode):
        with embedder("part") as component:
            query = run(component, mode=mode)
        assert query.mode == ("dense" if mode == "dense" else "hybrid")
        assert query.embedding
        said = [notice.partition(":")[0] for notice in query.notices]
        assert said == ["only 2 of 3 chunks have embeddings"] * (mode == "dense")

    def test_chunks_that_the_model_does_not_read_lack_none(self, embedder):
        with embedder("english", embedding_model="all-minilm") as component:
            query = run(component)
        assert (query.mode, query.notices) == ("hybrid", [])


class TestTheSettingsStandInTheWay:
    @pytest.mark.parametrize("change", [{"enabled": False}, {"embedding_model": ""}])
    def test_auto_is_silent_and_the_rest_refused(self, embedder, server, change):
        with embedder(**change) as component:
            assert by_words(component) == ""
            for mode in WANTED:
                assert isinstance(refusal(component, mode), ConfigError)
        assert server.requests() == []


class TestTheQueryStandsInTheWay:
    @pytest.fixture
    def english(self, embedder) -> Iterator[QueryEmbedder]:
        with embedder("english", embedding_model="all-minilm") as component:
            yield component

    def test_auto_is_silent(self, english, server):
        assert by_words(english, "緑茶") == ""
        assert by_words(english, "steep 緑茶") == ""
        assert server.inputs() == []

    def test_hybrid_says_so(self, english):
        query = run(english, "緑茶", "hybrid")
        assert (query.mode, query.embedding) == ("lexical", None)
        assert "all-minilm does not read this script" in query.notices[0]

    def test_a_multilingual_model_reads_all(self, embedder):
        with embedder() as component:
            assert run(component, "緑茶").mode == "hybrid"


class TestTheServerStandsInTheWay:
    def test_gone(self, embedder):
        with refused() as url, embedder(url=url) as component:
            assert "search is by words" in by_words(component)
            for mode in WANTED:
                assert isinstance(refusal(component, mode), ConnectionError)

    @pytest.mark.parametrize(
        ("path", "kind"),
        [
            *((path, kind) for path in ("/api/embed", "/api/tags") for kind in ("garbage", "drop")),
            ("/api/embed", "endless"),
            ("/api/tags", "status"),
        ],
    )
    def test_ill(self, embedder, server, path, kind):
        server.fail(path, kind, times=None)
        with embedder(query_timeout=0.1) as component:
            assert "search is by words" in by_words(component)
            assert refusal(component, "hybrid").exit_code == 4

    @pytest.mark.parametrize("kind", ["missing", "dimension", "nan"])
    def test_of_no_use(self, embedder, server, kind):
        server.fail("/api/embed", kind, times=None)
        with embedder() as component:
            assert "search is by words" in by_words(component)
            assert refusal(component, "dense").exit_code == 4

    def test_another_one_steps_in(self, embedder, server):
        with refused() as gone, embedder(urls=[gone, server.url], retries=1) as component:
            assert run(component).mode == "hybrid"


def test_the_model_is_verified_once_and_the_connection_kept(embedder, server):
    with embedder() as component:
        for _ in range(3):
            run(component)
    assert len(server.requests("/api/tags")) == 1
    assert len(server.requests("/api/embed")) == 3


def test_it_follows_an_index_whose_embeddings_get_another_size(write_notes, embed, with_ollama):
    work = write_notes("work", NOTES)
    config = with_ollama()
    embed(config, work=work)
    other = with_ollama(embedding_model="all-minilm")
    with get_document_store(config) as store:
        component = QueryEmbedder(store, config.ollama)
        assert len(run(component).embedding) == 32
        embed(other, reembed=True, work=work)
        component.config = component.embeddings.config = models_config(other)
        assert len(run(component).embedding) == 48
        component.close()


def test_it_serialises_with_its_settings(embedder):
    with embedder(query_prefix="query: ") as component:
        again = QueryEmbedder.from_dict(component.to_dict())
        assert again.config == component.config
        assert run(again).mode == "hybrid"
        again.close()
        again.document_store.close()
