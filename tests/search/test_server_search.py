"""The same notes on a Qdrant server and in the embedded store: the same results.

The server is the client's own in-memory engine behind a real socket (`qdrant_server`).
"""

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date
from itertools import product
from typing import Any

import pytest
from haystack import Pipeline
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from qdrant_server import QdrantServer
from rag.config import RAGConfig, StoreConfig
from rag.exceptions import ConnectionError, IndexUnavailableError
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST
from rag.indexing.server import copy_to_server
from rag.pipelines import QueryFilters, create_search_pipeline, search
from rag.search.run import open_store
from rag.stores import get_document_store
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.bm25 import encode_query
from tables import rows

NOTES = {
    "work": {
        "Backups.md": "---\ntags: [ops/backup]\ncreated: 2025-03-01\n"
        "aliases: [Safety copies]\n---\n# Backups\n\nWe keep backups for ninety days.\n\n"
        "## Restore\n\nRun the restore script.\n",
        "runbooks/Rollback.md": "---\ntags: [ops]\ncreated: 2025-06-30\ndone: true\n"
        "copies: 3\n---\n# Rolling back\n\nRolling back a deploy takes two minutes. "
        "The error budget is spent.\n",
        "runbooks/Deploy.md": "---\ntags: [ops]\ncreated: 2025-06-30T08:00:00\n---\n# Deploy\n\n"
        + "".join(f"## Step {n}\n\nDeploy step {n}: roll the canary.\n\n" for n in range(6)),
        "drafts/Budget.md": "---\ntags: [draft]\n---\n# Budget\n\nThe error, and the budget.\n",
    },
    "日記": {
        "証明書.md": "---\ncreated: 2024-01-01\n---\n# 証明書の更新\n\n"
        "証明書は毎年三月に更新する。\n",
        "バックアップ.md": "---\ntags: [運用]\ncreated: 2024-05-05\n---\n# バックアップ\n\n"
        "バックアップは毎晩二時に取る。復元の手順は別にある。\n",
    },
}
QUERIES = [
    *("rolling back a deploy", "deploy canary step", '"error budget"', '"the budget"'),
    *("budget -draft", 'deploy -"canary"', "back*", "depoly rolback", "証明書の更新"),
    *("バックアップ 復元", '"毎晩二時"', '"晩"', "tag:ops", "tag:ops/backup", "-tag:ops"),
    *("vault:日記", "path:runbooks/ deploy", "title:deploy", "-title:deploy roll"),
    *("Safety copies", "nothing of this kind"),
]
FILTERS = [
    QueryFilters(vaults=["work"]),
    QueryFilters(vaults=["work", "日記"], tags=["ops"]),
    QueryFilters(date_from=date(2024, 5, 1), date_to=date(2025, 3, 1)),
    QueryFilters(date_from=date(2025, 6, 30)),
    QueryFilters(paths=["runbooks/**"]),
    QueryFilters(tags=["no such tag"]),
    QueryFilters(any_tags=["ops/backup", "運用"], excluded_tags=["draft"]),
    QueryFilters(excluded_tags=["ops"], titles=["budget", "バックアップ"]),
    QueryFilters(values={"done": "true"}),
    QueryFilters(values={"copies": ">=2"}),
    QueryFilters(date_from=date(2025, 1, 1), date_field="modified"),
]


SIZE = 64


@pytest.fixture(scope="module")
def server() -> Iterator[QdrantServer]:
    with QdrantServer() as server:
        yield server


def direction(seed: object) -> list[float]:
    """A random unit vector, the same for the same seed."""
    chance = random.Random(str(seed))
    numbers = [chance.gauss(0, 1) for _ in range(SIZE)]
    length = sum(x * x for x in numbers) ** 0.5
    return [x / length for x in numbers]


def give_vectors(config: RAGConfig) -> None:
    """Publish the index once more, with vectors for all chunks but the first."""
    with get_document_store(config) as store:
        store.begin_writing()
        found = sorted(document.id for document in store.all_documents())
        store.write_embeddings({name: [direction(name)] for name in found[1:]})
        with Manifest.open_work(store.directory.begin_work() / MANIFEST) as manifest:
            manifest.set(revision=str(store.directory.newest() + 1))
        store.publish()


@pytest.fixture(scope="module")
def both(build_index, server) -> Iterator[tuple[BaseDocumentStore, BaseDocumentStore]]:
    """Two stores of the same notes with the same vectors: the embedded one, and the server's."""
    embedded = build_index(NOTES)
    give_vectors(embedded)
    config = replace(embedded, store=StoreConfig(url=server.url))
    copy_to_server(config)
    with get_document_store(embedded) as one, get_document_store(config) as other:
        yield one, other


def near(scores: list[Any]) -> Any:
    return pytest.approx(scores, abs=1e-4)


def assert_same_results(
    both: tuple[BaseDocumentStore, BaseDocumentStore], query: str, **options: Any
) -> None:
    one, other = (
        search(create_search_pipeline(store), query, explained=True, **options) for store in both
    )
    assert [(r.vault, r.file_path, r.line_start) for r in other.results] == [
        (r.vault, r.file_path, r.line_start) for r in one.results
    ]
    assert [r.score for r in other.results] == near([r.score for r in one.results])
    assert other.corrections == one.corrections and other.searched == one.searched
    for mine, theirs in zip(one.results, other.results, strict=True):
        assert theirs.content == mine.content and theirs.tags == mine.tags
        assert mine.explanation and theirs.explanation
        assert theirs.explanation.total == near(mine.explanation.total)
        assert theirs.explanation.fields == near(mine.explanation.fields)
        assert [chunk.id for chunk in theirs.explanation.chunks] == [
            chunk.id for chunk in mine.explanation.chunks
        ]


@rows("query", QUERIES)
def test_a_query_finds_the_same_notes_with_the_same_scores(both, query):
    assert_same_results(both, query, top_k=10)


@rows("query, filters", product(["deploy backups 証明書", "tag:ops"], FILTERS))
def test_filters_of_every_kind_select_the_same(both, query, filters):
    assert_same_results(both, query, filters=filters)


@settings(max_examples=examples(40))
@given(
    st.lists(
        st.sampled_from(["deploy", "backup", "budget", "canary", "証明書", "更新", "roll"]),
        min_size=1,
    )
)
def test_any_words_are_scored_alike(both, words):
    asked = encode_query(" ".join(words))
    query = SparseEmbedding(asked.indices, asked.values)
    one, other = (store.find_candidates(query) for store in both)
    assert [c.score for c in other] == near([c.score for c in one])
    assert {c.id for c in other} == {c.id for c in one}


def test_a_pipeline_on_a_server_serialises(both):
    text = create_search_pipeline(both[1]).dumps()
    pipeline = Pipeline.loads(text, allowed_modules=["rag"])
    with open_store(pipeline):
        found = search(pipeline, "deploy").results
    assert [r.file_path for r in found][:1] == ["runbooks/Deploy.md"]


@pytest.fixture(scope="module")
def parted(both, build_index) -> Iterator[tuple[BaseDocumentStore, BaseDocumentStore]]:
    """The embedded store of the same, and one of a server with six shards on three nodes."""
    config = build_index(NOTES)  # has the vectors of `both`
    with QdrantServer(nodes=3) as server:
        config = replace(
            config, store=StoreConfig(url=server.url, shard_number=6, replication_factor=2)
        )
        copy_to_server(config)
        filled = [
            server.engine.count(name).count for name in server.shards.names("obsidian_knowledge")
        ]
        assert len(filled) == 6 and min(filled) > 0
        with get_document_store(config) as store:
            yield both[0], store


@rows("query", QUERIES)
def test_six_shards_rank_as_one(parted, query):
    assert_same_results(parted, query, top_k=10)


# -- indexing into a server ------------------------------------------------------------


Refresh = Callable[..., Any]
Points = Callable[[RAGConfig], Any]


@pytest.fixture
def on_server(config) -> Iterator[tuple[RAGConfig, QdrantServer]]:
    """Settings with a server of the test's own."""
    with QdrantServer() as server:
        yield replace(config, store=StoreConfig(url=server.url, timeout=2)), server


def test_an_index_on_a_server_follows_the_notes(on_server, config, write_notes, refresh, points):
    remote, _ = on_server
    folder = write_notes("work", NOTES["work"])
    refresh(config=remote, work=folder)
    (folder / "Backups.md").write_text("# Backups\n\nKept for a year.\n")
    (folder / "drafts/Budget.md").unlink()
    refresh(config=remote, work=folder)
    refresh(config=config, work=folder)
    assert points(remote) == points(config)


def test_a_run_that_finds_nothing_changed_looks_whether_the_server_has_everything(
    on_server, write_notes, refresh, points, age
):
    remote, server = on_server
    folder = write_notes("work", NOTES["work"])
    age(folder)  # a young file is read again on every run
    refresh(config=remote, work=folder)
    before = points(remote)
    assert not refresh(config=remote, work=folder).notices
    lost = server.engine.scroll("obsidian_knowledge", limit=3)[0]
    server.engine.delete("obsidian_knowledge", [point.id for point in lost])
    report = refresh(config=remote, work=folder)
    assert report.notices == [
        f"the index held {len(before) - 3} of {len(before)} chunks: the index is rebuilt"
    ]
    assert points(remote) == before


def test_a_collection_that_vanished_is_made_anew(on_server, write_notes, refresh, points):
    remote, server = on_server
    folder = write_notes("work", NOTES["work"])
    refresh(config=remote, work=folder)
    before = points(remote)
    server.engine.delete_collection("obsidian_knowledge")
    with get_document_store(remote) as store, pytest.raises(IndexUnavailableError):
        search(create_search_pipeline(store), "deploy")
    assert "of" in refresh(config=remote, work=folder).notices[0]
    assert points(remote) == before


@pytest.mark.sampled
@pytest.mark.parametrize("after", range(6, 12))
def test_a_run_that_broke_off_is_completed_by_the_next(
    on_server, config, write_notes, refresh, points, after
):
    remote, server = on_server
    folder = write_notes("work", NOTES["work"])
    server.fail("hangup", after=after)
    with suppress(ConnectionError):
        refresh(config=remote, work=folder)
    server.fail("")
    refresh(config=remote, work=folder)
    refresh(config=config, work=folder)
    assert points(remote) == points(config)
