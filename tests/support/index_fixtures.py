"""Indexes for tests of several packages: the real engine, in folders of the tests' own."""

import builtins
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from haystack import Pipeline

from disk_files import write_all
from ollama_answers import ANSWER_NOTES
from ollama_server import OllamaServer
from rag.config import EmbeddingConfig, OllamaConfig, RAGConfig
from rag.indexing.chunk_embedding import embed_chunks
from rag.indexing.reports import RunReport
from rag.indexing.run import IndexRun
from rag.pipelines import SearchResponse, create_search_pipeline, search
from rag.stores import get_document_store

Vaults = Mapping[str, Mapping[str, str]]
Points = dict[str, tuple[str | None, str]]
NOTES = {
    "Backups.md": "---\ntags: [ops/backup]\ncreated: 2025-03-01\naliases: [Safety copies]\n---\n"
    "# Backups\n\nWe keep backups for ninety days.\n\n## Restore\n\nRun the restore script.\n",
    "runbooks/Rollback.md": "---\ntags: [ops]\ncreated: 2025-06-30\n---\n"
    "# Rolling back\n\nRolling back a deploy takes two minutes.\n",
    "証明書.md": "---\ncreated: 2024-01-01\n---\n# 証明書の更新\n\n証明書は毎年三月に更新する。\n",
}


def paths(response: SearchResponse) -> list[str]:
    """Return the paths of the notes that a search found."""
    return [result.file_path for result in response.results]


def embedded(config: RAGConfig, server: OllamaServer, **ollama: Any) -> RAGConfig:
    """Give an index that is there vectors of a server; return its settings with that server."""
    settings = OllamaConfig(url=server.url, retries=0, **ollama)
    config = replace(config, ollama=settings)
    with IndexRun(config) as run:
        embed_chunks(run)
    return config


def offline(data_dir: Path, **settings: Any) -> RAGConfig:
    """Settings without models, but for those that are given."""
    off = {"embedding": EmbeddingConfig("ollama"), "ollama": OllamaConfig(enabled=False)}
    return RAGConfig(data_dir=data_dir, **(off | settings))


@contextmanager
def open_pipeline(
    make: Callable[..., Pipeline], index: RAGConfig, *settings: Any, **how: Any
) -> Iterator[Pipeline]:
    """Give a pipeline over an index that is there, with its settings or others:
    `open_pipeline(create_qa_pipeline, config)`."""
    with (
        get_document_store(index) as store,
        closing(make(store, *(settings or [index]), **how)) as pipeline,
    ):
        yield pipeline


@pytest.fixture
def config(tmp_path) -> RAGConfig:
    """Settings with an index of the test's own."""
    return offline(tmp_path / "data")


@pytest.fixture
def refresh(config) -> Callable[..., RunReport]:
    """Run the indexer over some folders: `refresh(work=folder)`, `refresh(config=…, work=…)`."""

    def run(
        config: RAGConfig = config, prune: bool = False, rebuild: bool = False, **folders: Path
    ) -> RunReport:
        with IndexRun(config, rebuild=rebuild) as run:
            for name, folder in folders.items():
                run.index_vault(name, folder, prune)
            run.publish()
        return run.report

    return run


@pytest.fixture(scope="session")
def points() -> Callable[[RAGConfig], Points]:
    """Return all that readers of an index see: content and meta of every chunk, by its id."""

    def read(config: RAGConfig) -> Points:
        with get_document_store(config) as store:
            documents = store.filter_documents()
        return {d.id: (d.content, repr(sorted(d.meta.items()))) for d in documents}

    return read


@pytest.fixture(scope="session")
def titles() -> Callable[[RAGConfig], set[str]]:
    """Return the titles of the notes that readers of an index see."""

    def read(config: RAGConfig) -> set[str]:
        with get_document_store(config) as store:
            return {document.meta["title"] for document in store.filter_documents()}

    return read


@pytest.fixture(scope="session")
def build_index(tmp_path_factory) -> Callable[..., RAGConfig]:
    """Write vaults and index them, for tests that only read: `build_index({vault: notes})`; with
    `embed=True`, and settings that name a model, also by meaning.

    The same vaults are indexed once.
    """
    built: dict[str, RAGConfig] = {}

    def build(vaults: Vaults, embed: bool = False, **settings: Any) -> RAGConfig:
        if made := built.get(key := repr((vaults, embed, settings))):
            return made
        base = tmp_path_factory.mktemp("index")
        config = offline(base / "data", **settings)
        with IndexRun(config) as run:
            for vault, notes in vaults.items():
                run.index_vault(vault, write_all(base / "vaults" / vault, notes))
            run.publish()
            if embed:
                embed_chunks(run)
        built[key] = config
        return config

    return build


@pytest.fixture(scope="session")
def searching(build_index) -> Iterator[Callable[..., Callable[..., SearchResponse]]]:
    """Search vaults that are indexed once: `searching({vault: notes})("query", top_k=3)`."""
    with ExitStack() as opened:

        def open_index(vaults: Vaults, **given: Any) -> Callable[..., SearchResponse]:
            store = opened.enter_context(get_document_store(build_index(vaults)))
            pipeline = create_search_pipeline(store)
            return lambda query, *filters, **options: search(
                pipeline, query, *filters, **{**given, **options}
            )

        yield open_index


@pytest.fixture(scope="session")
def age() -> Callable[[Path], None]:
    """Give every note of a folder an old time of change, another one at every call.

    A file younger than two seconds is read again on every run, whatever it looks like.
    """
    clock = count(1_600_000_000)

    def make_old(folder: Path) -> None:
        second = next(clock)
        for file in sorted(folder.rglob("*.md")):
            os.utime(file, (second, second))

    return make_old


@pytest.fixture
def unreadable(monkeypatch) -> Callable[[str | Path], None]:
    """Make opening files fail whose paths end so. As root no permission would: this fakes the
    error alone."""
    opened = builtins.open

    def refuse(end: str | Path) -> None:
        def guarded(file: Any, *arguments: Any, **options: Any) -> Any:
            if str(file).endswith(str(end)):
                raise PermissionError(13, "Permission denied", str(file))
            return opened(file, *arguments, **options)

        monkeypatch.setattr(builtins, "open", guarded)

    return refuse


@pytest.fixture(scope="session")
def shelf(build_index) -> Path:
    """A data folder with the index of three notes in a vault `work`: nobody may change them."""
    return build_index({"work": NOTES}).data_dir


@pytest.fixture
def library(shelf, monkeypatch) -> Path:
    """The indexed notes for tests that only read."""
    monkeypatch.setenv("RAG_DATA_DIR", str(shelf))
    return shelf.parent / "vaults" / "work"


@pytest.fixture(scope="session")
def answer_data(build_index) -> Path:
    """A data folder with the index of `ANSWER_NOTES`; link to it, so that nothing is added."""
    return build_index({"v": ANSWER_NOTES}).data_dir


@pytest.fixture
def with_ollama(config, server) -> Callable[..., RAGConfig]:
    """Settings with that server, which give up at once and send each text by itself."""

    def make(**changes: Any) -> RAGConfig:
        quick = {"retries": 0, "connect_timeout": 5.0, "read_timeout": 5.0, "query_timeout": 5.0}
        given = {"url": server.url, "batch_tokens": 1, "max_in_flight": 1, **quick}
        ollama = OllamaConfig(**(given | changes))
        return replace(config, embedding=EmbeddingConfig("ollama"), ollama=ollama)

    return make


@pytest.fixture
def embed(with_ollama) -> Callable[..., RunReport]:
    """Index some folders and embed: `embed(work=folder)`, `embed(config, anew=True, …)`."""

    def run(
        config: RAGConfig | None = None,
        reembed: bool = False,
        prune: bool = False,
        rebuild: bool = False,
        progress: Callable[[int, int], None] | None = None,
        **folders: Path,
    ) -> RunReport:
        with IndexRun(config or with_ollama(), rebuild=rebuild) as run:
            for name, folder in folders.items():
                run.index_vault(name, folder, prune)
            run.publish()
            embed_chunks(run, reembed, progress)
        return run.report

    return run
