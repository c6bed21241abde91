"""Shards are opened for the words of one query, and find what a shard opened whole finds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.index.shard_files import SORTED
from rag.index.snapshots import SHARD
from rag.stores import QdrantEdgeDocumentStore
from rag.stores.base.points import Candidate
from rag.stores.edge.narrow_shard import LINKED, MEMORY
from rag.support.disk_space import copy_tree

Store = QdrantEdgeDocumentStore

FAR = 200_003  # spreads dimensions over all there can be; prime to 2 ** 32
DOCUMENTS, WORDS = 1500, 100


def dimension(word: int) -> int:
    return word * FAR % (1 << 32)


def words_of(number: int) -> list[int]:
    """Each document has words of its own, and one that a fifth of all have."""
    return [number * (WORDS - 1) + at for at in range(WORDS - 1)] + [500_000 + number % 5]


def document(number: int) -> Document:
    weights = [1.0 + (word * 7) % 5 for word in words_of(number)]
    vector = SparseEmbedding([dimension(word) for word in words_of(number)], weights)
    meta = {"vault": "ab"[number % 2], "tags": [f"t{number % 3}"]}
    return Document(id=f"n{number:04}", content="text", meta=meta, sparse_embedding=vector)


@pytest.fixture(scope="session")
def index(tmp_path_factory) -> Path:
    """An index of some 150,000 words, all in one table."""
    path = tmp_path_factory.mktemp("dimensions") / "index"
    with Store(str(path)) as store:
        store.write_documents([document(number) for number in range(DOCUMENTS)])
        store.publish()
    return path


@pytest.fixture(scope="session")
def whole(index, tmp_path_factory) -> Iterator[Store]:
    """The same without the second form of its table: opened as the engine alone opens it."""
    copied = tmp_path_factory.mktemp("whole") / "index"
    copy_tree(index, copied)
    for file in copied.rglob(SORTED):
        file.unlink()
    with Store(str(copied)) as store:
        assert store.count_documents() == DOCUMENTS
        yield store


@pytest.fixture
def copied(index, tmp_path) -> Path:
    """A copy to spoil."""
    copy_tree(index, tmp_path / "index")
    return tmp_path / "index"


def forms(opened: list[Path]) -> list[str]:
    """Return how a shard was opened each time: `shard`, or `narrow` for one query's words."""
    return ["narrow" if path.name.startswith(LINKED) else path.name for path in opened]


def tables(index: Path, home: str = "gen-1") -> list[Path]:
    return [*(index / home / SHARD).rglob(SORTED)]


def asked(*words: int) -> SparseEmbedding:
    return SparseEmbedding([dimension(word) for word in words], [1.0 + w % 3 for w in words])


def find(store: Store, *words: int, where: dict[str, Any] | None = None) -> list[Candidate]:
    return store.find_candidates(asked(*words), where, top_k=50)


# -- what is found ---------------------------------------------------------------------

WORD = st.one_of(
    st.integers(0, DOCUMENTS * (WORDS - 1) - 1),  # one document has it
    st.integers(500_000, 500_004),  # many have it
    st.integers(600_000, 900_000),  # nobody
)
WHERE = st.sampled_from(
    [
        None,
        {"field": "meta.vault", "operator": "==", "value": "a"},
        {"field": "meta.tags", "operator": "in", "value": ["t1", "t2"]},
    ]
)


@given(words=st.lists(WORD, min_size=1, max_size=8, unique=True), where=WHERE)
@settings(max_examples=examples(60))
def test_a_query_finds_the_same_with_the_same_scores(index, whole, words, where):
    with Store(str(index)) as store:
        assert find(store, *words, where=where) == find(whole, *words, where=where)


def test_the_shard_is_opened_for_the_words_of_the_query(index, opened):
    with Store(str(index)) as store:
        find(store, 1, 500_001)
        find(store, 500_001)  # a word of the same query needs no other opening
        store.get_documents(["n0001"])
        assert store.count_documents() == DOCUMENTS
    assert forms(opened) == ["narrow"]


def test_an_index_is_named_by_a_relative_path(index, whole, opened, monkeypatch):
    monkeypatch.chdir(index.parent)
    with Store(index.name) as store:
        assert find(store, 1, 500_001) == find(whole, 1, 500_001)
    assert forms(opened) == ["narrow"]


def test_who_goes_on_asking_has_it_opened_for_all_words(index, whole, opened):
    with Store(str(index)) as store:
        for words in ((1, 2), (500_002, 777_000), (5, 2), (8, 900), (500_000,)):
            assert find(store, *words) == find(whole, *words)
    assert forms(opened) == ["narrow", "shard"]


def test_queries_that_are_expected_are_opened_for_together(index, whole, opened):
    with Store(str(index)) as store:
        store.expect([dimension(word) for word in (1, 2, 500_003)])
        for word in (500_003, 2, 1):
            assert find(store, word) == find(whole, word)
    assert forms(opened) == ["narrow"]


# -- what it leaves, and what can be wrong ---------------------------------------------


def leads_to(folder: Path, index: Path) -> bool:
    """Whether a folder of links is one to this index."""
    return any(link.resolve().is_relative_to(index) for link in folder.rglob("*"))


def test_nothing_is_left_of_the_folder_it_was_opened_in(index):
    before = sorted(index.rglob("*"))
    in_memory = {*Path(MEMORY).glob(f"{LINKED}*")}  # other tests are about to open some too
    with Store(str(index)) as store:
        find(store, 1)
        assert not [*index.rglob(f"{LINKED}*")]
        left = {*Path(MEMORY).glob(f"{LINKED}*")} - in_memory
        assert not [folder for folder in left if leads_to(folder, index)]
    assert sorted(index.rglob("*")) == before


def cut(table: Path) -> None:
    table.write_bytes(table.read_bytes()[:-8])


def empty(table: Path) -> None:
    table.write_bytes(b"")


def blank(table: Path) -> None:
    table.write_bytes(bytes(table.stat().st_size))


@pytest.mark.parametrize("damage", [cut, empty, blank])
def test_a_damaged_second_form_is_passed_over(copied, whole, opened, damage):
    [table] = tables(copied)
    damage(table)
    with Store(str(copied)) as store:
        assert find(store, 1, 500_001) == find(whole, 1, 500_001)
    assert forms(opened) == ["shard"]


@pytest.mark.parametrize("what", ["rag.stores.edge.narrow_shard.TemporaryDirectory", "os.symlink"])
def test_where_no_such_folder_can_be_made_the_shard_is_opened_whole(
    index, whole, opened, monkeypatch, what
):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(what, refuse)
    with Store(str(index)) as store:
        assert find(store, 1, 500_001) == find(whole, 1, 500_001)
    assert forms(opened) == ["shard"]
    assert not [*index.rglob(f"{LINKED}*")]
