"""The document frequencies of an index are those of the notes that it holds now, however it came
to hold them."""

import random
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from property_examples import IS_FULL
from rag.config import StoreConfig
from rag.index.manifest import CHUNKS
from rag.index.snapshots import MANIFEST, IndexDirectory
from rag.pipelines import create_search_pipeline, search
from rag.stores import get_document_store

WORDS = [
    *("harbour", "lantern", "copper", "meadow", "violin", "証明書", "更新手順", "deploy"),
    *("rollback", "window", "teapot"),
]
EDITS, QUERIES = (500, 200) if IS_FULL else (60, 30)


def prose(chance: random.Random) -> str:
    sections = (
        f"## {chance.choice(WORDS)}\n\n" + " ".join(chance.choices(WORDS, k=chance.randint(1, 30)))
        for _ in range(chance.randint(1, 4))
    )
    return "\n\n".join(sections) + "\n"


def edit(folder: Path, chance: random.Random) -> None:
    """Change, add, move or delete a note."""
    notes = sorted(folder.glob("*.md"))
    one, fresh = chance.choice(notes), folder / f"note {chance.random()}.md"
    match chance.randrange(4):
        case 0:
            one.write_text(prose(chance))
        case 1:
            fresh.write_text(prose(chance))
        case 2:
            one.rename(fresh)
        case _ if len(notes) > 5:
            one.unlink()


def found(config, queries: list[str]) -> list[dict[str, float]]:
    with get_document_store(config) as store:
        pipeline = create_search_pipeline(store, config)
        answers = [search(pipeline, query, top_k=50) for query in queries]
    return [{r.file_path: r.scores["lexical"] for r in answer.results} for answer in answers]


def published(config) -> dict[int, int]:
    directory = IndexDirectory(config.index_dir)
    with closing(sqlite3.connect(directory.path / directory.current() / MANIFEST)) as db:
        return dict(db.execute("SELECT * FROM counts"))


def truth(config) -> tuple[int, Counter]:
    """Return how many chunks readers see, and in how many of them each dimension is."""
    with get_document_store(config) as store:
        documents = [d for d in store.filter_documents() if d.sparse_embedding]
    vectors = [d.sparse_embedding.indices for d in documents]
    return len(vectors), Counter(dimension for vector in vectors for dimension in vector)


def assert_true(config) -> None:
    """Compare what an index has published with what its chunks hold."""
    counts, (chunks, expected) = published(config), truth(config)
    assert counts.pop(CHUNKS) == chunks > 0
    assert counts == expected


@pytest.fixture
def vault(tmp_path) -> Path:
    folder, chance = tmp_path / "v", random.Random(7)
    folder.mkdir()
    for number in range(30):
        (folder / f"{number}.md").write_text(prose(chance))
    return folder


def test_an_index_brought_up_to_date_ranks_as_a_fresh_one(config, refresh, vault, tmp_path):
    chance = random.Random(11)
    refresh(v=vault)
    for _ in range(EDITS // 20):
        for _ in range(20):
            edit(vault, chance)
        refresh(prune=True, v=vault)
    fresh = replace(config, data_dir=tmp_path / "fresh")
    refresh(fresh, v=vault)
    queries = [" ".join(chance.choices(WORDS, k=chance.randint(1, 4))) for _ in range(QUERIES)]
    pairs = zip(found(config, queries), found(fresh, queries), strict=True)
    assert all(one == pytest.approx(other, rel=1e-6) for one, other in pairs)
    assert_true(config)


def test_on_a_server_points_of_a_rebuilt_index_count_no_more(config, refresh, vault, own_qdrant):
    remote = replace(config, store=StoreConfig(url=own_qdrant.url))
    refresh(remote, v=vault)
    assert_true(remote)
    for number in range(10):
        (vault / f"{number}.md").unlink()
    refresh(remote, rebuild=True, v=vault)
    assert_true(remote)
    (vault / "new.md").write_text("an unheard of word")
    refresh(remote, v=vault)
    assert_true(remote)
