"""What `rag doctor` finds of the settings and of the index, and how it goes through its checks."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.types import DuplicatePolicy

from qdrant_server import QdrantServer
from rag.app import doctor
from rag.app.doctor import CheckResult, Examination, run_checks
from rag.config import IndexConfig, RAGConfig, StoreConfig
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST, IndexDirectory
from rag.index.vault_registry import Registry
from rag.stores import get_document_store
from tables import rows

NOTES = {
    "Backups.md": "# Backups\n\nWe keep backups for ninety days.\n\n## Restore\n\nRun it.\n",
    "Rollback.md": "# Rolling back\n\nRolling back a deploy takes two minutes.\n",
    "証明書.md": "# 証明書の更新\n\n証明書は毎年三月に更新する。\n",
}
GB = 1 << 30


@pytest.fixture
def vault(write_notes, age) -> Path:
    folder = write_notes("work", NOTES)
    age(folder)
    return folder


@pytest.fixture
def indexed(config, vault, refresh) -> Path:
    """The notes, indexed."""
    refresh(work=vault)
    return vault


def results(config: RAGConfig) -> dict[str, CheckResult]:
    """Return the last result of each name of the checks of an index."""
    examination = Examination(config)
    checks = doctor.check_index, doctor.check_files, doctor.check_chunks
    return {result.name: result for check in checks for result in check(examination)}


def one(config: RAGConfig, name: str) -> CheckResult:
    """Return the first result of a name."""
    return next(result for result in run_checks(config) if result.name == name)


def says(result: CheckResult, status: str, message: str, hint: str = "") -> bool:
    told = result.status, message in result.message, hint in result.hint
    return told == (status, True, True) and (status == "pass" or bool(result.hint))


def rewrite(
    config: RAGConfig, change: Callable[[list[Document]], list[Document]], **facts: str
) -> None:
    """Publish the index again with other documents or other facts; those left out are deleted."""
    directory = IndexDirectory(config.index_dir)
    with directory.writing():
        with Manifest.open_work(directory.begin_work() / MANIFEST) as manifest:
            manifest.set(**facts)
        with get_document_store(config, directory) as store:
            documents = store.filter_documents()
            changed = change(documents)
            store.write_documents(changed, DuplicatePolicy.OVERWRITE)
            store.delete_documents(sorted({d.id for d in documents} - {d.id for d in changed}))
            store.publish()


def test_without_an_index_the_other_checks_go_on(config):
    found = [*run_checks(config)]
    assert [(result.name, result.status) for result in found] == [
        *(("configuration", "pass"), ("data folder", "pass"), ("disk", "pass")),
        *(("vault", "warn"), ("index", "fail"), ("ollama", "pass")),
    ]
    assert "rag index FOLDER" in found[4].hint and not config.data_dir.exists()


def test_a_check_that_panics_fails_alone_and_ctrl_c_ends_all(config, monkeypatch):
    class PanicException(BaseException): ...

    def broken(_: Examination) -> Iterator[CheckResult]:
        yield CheckResult("one", "pass", "well")
        raise PanicException("at line 3\nstack")

    def interrupted(_: Examination) -> Iterator[CheckResult]:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(doctor, "CHECKS", [("one", broken), ("two", interrupted)])
    checks = run_checks(config)
    assert [next(checks).status, next(checks).message] == [
        "pass",
        "the check broke: PanicException: at line 3",
    ]
    with pytest.raises(KeyboardInterrupt):
        next(checks)


def test_a_data_folder_that_may_not_be_read_is_told_of_once_with_the_remedy(
    config, indexed, monkeypatch
):
    def refuse(file: Any, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(file))

    monkeypatch.setattr("os.scandir", refuse)  # the tests may run as one who may do all
    monkeypatch.setattr("rag.app.doctor.open_index", lambda _: refuse(config.index_dir / "CURRENT"))
    [told] = [result for result in run_checks(config) if result.status == "fail"]
    assert says(told, "fail", f"{config.data_dir} cannot be read: Permission denied")
    assert told.hint.startswith(f"`chmod -R u+rwX {config.data_dir}`")


def test_a_file_of_the_index_that_may_not_be_read_is_not_taken_for_damaged(
    config, indexed, monkeypatch
):
    manifest = next(config.index_dir.glob(f"*/{MANIFEST}"))
    manifest.write_bytes(b"as if it could not be read")
    monkeypatch.setattr("os.access", lambda file, _: not str(file).endswith(MANIFEST))
    for name in ("index", "files"):
        assert says(one(config, name), "fail", "cannot be read", "chmod")
    assert not (config.index_dir / "DAMAGED").exists()


def test_it_tells_where_settings_come_from_and_what_sets_nothing(config, monkeypatch):
    monkeypatch.setenv("RAG_SERCH__TOP_K", "3")
    monkeypatch.setenv("RAG_QQ", "3")
    config = replace(config, origins={"data_dir": "/a/rag.toml", "search.top_k": "default"})
    sources, strange, unknown = doctor.check_configuration(Examination(config))
    assert says(sources, "pass", "/a/rag.toml (1)")
    assert says(unknown, "warn", "RAG_SERCH__TOP_K", "RAG_SEARCH__TOP_K")
    assert says(strange, "warn", "RAG_QQ") and "Did you mean" not in strange.hint


def test_a_data_folder_must_be_a_folder_of_ours(config, tmp_path):
    (tmp_path / "file").touch()
    below = replace(config, data_dir=tmp_path / "file" / "data")
    for wrong in (below, replace(config, data_dir=tmp_path / "file")):
        [failure] = [result for result in run_checks(wrong) if result.status == "fail"]
        assert says(failure, "fail", "cannot be read: Not a directory", "RAG_DATA_DIR")
    config.data_dir.mkdir()
    (config.data_dir / "thesis.md").touch()
    assert says(one(config, "data folder"), "fail", "thesis.md", "RAG_DATA_DIR")


@rows(
    "free, size, status",
    *((10 * GB, 0, "pass"), (GB // 2, 0, "warn"), (4 * GB, 3 * GB, "warn"), (1 << 20, 0, "fail")),
)
def test_a_disk_must_have_room_for_another_copy(config, monkeypatch, free, size, status):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    monkeypatch.setattr(IndexDirectory, "size_of_copy", lambda _: size)
    assert says(one(config, "disk"), status, "", "" if status == "pass" else "RAG_DATA_DIR")


class TestVaults:
    def check(self, config: RAGConfig) -> CheckResult:
        *_, last = doctor.check_vaults(Examination(config))
        return last

    def test_none_is_a_warning(self, config):
        assert says(self.check(config), "warn", "no vault yet", "rag init")

    def test_one_that_is_not_in_the_index(self, config, indexed, write_notes):
        Registry.load(config).register(config, write_notes("more", NOTES))
        more, work = doctor.check_vaults(Examination(config))
        assert says(more, "warn", "3 notes", "rag index") and "not indexed" in more.message
        assert says(work, "pass", "work: 3 notes")

    def test_one_whose_folder_is_gone_with_its_name_quoted(self, config, vault):
        Registry.load(config).register(config, vault, "my notes")
        vault.rename(vault.with_name("moved"))
        result = self.check(config)
        assert says(result, "warn", "is not there", "`rag vault remove 'my notes'`")

    def test_one_within_another(self, config, indexed):
        (indexed / "inner").mkdir()
        Registry.load(config).register(config, indexed / "inner")
        empty, _, nested = doctor.check_vaults(Examination(config))
        assert says(empty, "warn", "holds no .md files", "`ls ")
        assert says(nested, "warn", "inner lies in work", "`rag vault remove inner`")

    def test_settings_that_name_folders_that_are_not_there(self, config, vault):
        away = replace(config, vaults_dir=vault.parent / "away")
        assert says(one(away, "vault"), "fail", "vaults_dir: ", "rag config")
        wrong = replace(config, vaults_dir=vault.parent, target_vaults=["wrok"])
        assert says(one(wrong, "vault"), "fail", "wrok", "Mend target_vaults")


class TestIndex:
    def test_other_settings_will_make_it_anew(self, config, indexed):
        other = replace(config, index=IndexConfig(chunk_size=100))
        assert says(results(other)["index"], "warn", "(chunk_size)", "rag index")

    def test_another_schema_fails(self, config, indexed):
        rewrite(config, lambda documents: documents, fingerprint='{"schema": 1}')
        assert says(one(config, "index"), "fail", "another version", "rag index")


class TestChunks:
    @pytest.fixture
    def on_server(self, config, vault, refresh) -> Iterator[RAGConfig]:
        """The notes, indexed on a Qdrant server."""
        with QdrantServer() as server:
            remote = replace(config, store=StoreConfig(url=server.url))
            refresh(config=remote, work=vault)
            yield remote

    def test_more_on_a_server_are_no_harm_and_fewer_are_written_by_rag_index(self, on_server):
        with get_document_store(on_server) as store:
            store.write_documents([Document(id="more", content="a chunk of no note")])
        chunks = results(on_server)["chunks"]
        assert says(chunks, "pass", "4, as the manifest says") and chunks.facts["found"] == 5
        with get_document_store(on_server) as store:
            store.delete_documents([document.id for document in store.all_documents()[:2]])
        chunks = results(on_server)["chunks"]
        assert says(chunks, "fail", "holds 3 chunks", "`rag index` writes what is missing.")

    def test_one_that_is_lost_fails(self, config, indexed):
        rewrite(config, lambda documents: documents[1:])
        chunks = results(config)["chunks"]
        assert says(chunks, "fail", "holds 3 chunks, expected 4", "--rebuild")
