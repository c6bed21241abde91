"""Which vaults there are: registered folders, and the folders of `vaults_dir`."""

import os
from dataclasses import replace
from pathlib import Path
from unicodedata import normalize

import pytest

from rag.config import RAGConfig
from rag.exceptions import UsageError
from rag.index.vault_registry import Registry, configured_vaults, overlaps, unknown_vault
from tables import rows

NFC, NFD = normalize("NFC", "ガイド"), normalize("NFD", "ガイド")


@pytest.fixture
def folder(tmp_path):
    def make(name: str) -> Path:
        path = tmp_path / name
        path.mkdir(parents=True)
        return path

    return make


@pytest.fixture
def register(config):
    def run(path: Path, name: str = "", config: RAGConfig = config) -> str:
        return Registry.load(config).register(config, path, name)

    return run


class TestRegistered:
    def test_a_vault_is_named_after_its_folder(self, register, folder, config):
        path = folder("x/notes")
        assert register(path) == "notes"
        assert configured_vaults(config) == {"notes": path}

    def test_it_may_have_another_name(self, register, folder, config):
        path = folder("notes")
        assert register(path, "work") == "work"
        assert configured_vaults(config) == {"work": path}

    def test_two_folders_cannot_have_one_name(self, register, folder):
        register(folder("a/notes"))
        with pytest.raises(UsageError, match="exists already") as raised:
            register(folder("b/notes"))
        assert "--name" in raised.value.hint

    def test_a_link_is_the_folder_it_leads_to(self, register, folder, tmp_path, config):
        path = folder("real")
        (tmp_path / "link").symlink_to(path)
        register(tmp_path / "link")
        assert list(configured_vaults(config).values()) == [path]

    def test_a_missing_folder_is_refused(self, register, tmp_path):
        with pytest.raises(UsageError, match="does not exist"):
            register(tmp_path / "nowhere")

    @pytest.mark.parametrize("name", ["a/b", "  "])
    def test_a_name_that_no_path_could_begin_with_is_refused(self, register, folder, name):
        with pytest.raises(UsageError, match="cannot name a vault"):
            register(folder("notes"), name)

    def test_a_folder_whose_name_is_no_text_is_refused(self, register, tmp_path):
        path = tmp_path / os.fsdecode(b"b\xff")
        path.mkdir()
        with pytest.raises(UsageError, match="UTF-8"):
            register(path)

    def test_a_removed_vault_is_gone_and_its_folder_is_not(self, register, folder, config):
        path = folder("notes")
        register(path)
        registry = Registry.load(config)
        registry.remove(config, "notes")
        registry.save()
        assert configured_vaults(config) == {}
        assert path.is_dir()


class TestVaultsDir:
    @pytest.fixture
    def parent(self, folder) -> Path:
        for name in ("one", "two", ".hidden"):
            folder(f"vaults/{name}")
        path = folder("vaults/three").parent
        (path / "note.md").write_text("x")
        return path

    @pytest.fixture
    def config(self, config, parent) -> RAGConfig:
        return replace(config, vaults_dir=parent)

    def test_every_folder_in_it_is_a_vault(self, config, parent):
        assert configured_vaults(config) == {n: parent / n for n in ("one", "three", "two")}

    def test_target_vaults_picks_some(self, config):
        picked = replace(config, target_vaults=["two", "one"])
        assert list(configured_vaults(picked)) == ["one", "two"]

    def test_names_are_nfc_whatever_the_disk_says(self, config, parent):
        (parent / NFD).mkdir()
        assert NFC in configured_vaults(config)
        picked = replace(config, target_vaults=[NFD])
        assert configured_vaults(picked) == {NFC: parent / NFD}

    def test_a_removed_one_stays_away(self, config):
        registry = Registry.load(config)
        registry.remove(config, "two")
        registry.save()
        assert list(configured_vaults(config)) == ["one", "three"]

    def test_a_removed_one_comes_back_when_it_is_named(self, config, parent, register):
        registry = Registry.load(config)
        registry.remove(config, "two")
        registry.save()
        assert register(parent / "two", config=config) == "two"
        assert configured_vaults(config)["two"] == parent / "two"


@rows(
    "content", "", "{", "[]", "[" * 200_000, '{"vaults": []}', '{"vaults": {"a": 1}, "removed": []}'
)
def test_a_damaged_list_is_an_empty_one(config, content):
    config.data_dir.mkdir(exist_ok=True)
    (config.data_dir / "vaults.json").write_text(content)
    registry = Registry.load(config)
    assert registry.vaults == {} and "was damaged" in registry.notice


def test_a_list_kept_after_damage_is_whole(config):
    config.data_dir.mkdir()
    (config.data_dir / "vaults.json").write_text("")
    Registry.load(config).save()
    assert Registry.load(config).notice == ""


def test_a_kept_list_is_for_its_owner_alone(config):
    Registry.load(config).save()
    (config.data_dir / "vaults.json").chmod(0o644)
    config.data_dir.chmod(0o755)
    Registry.load(config).save()
    assert (config.data_dir / "vaults.json").stat().st_mode & 0o777 == 0o600
    assert config.data_dir.stat().st_mode & 0o777 == 0o700


def test_an_unknown_vault_names_the_nearest():
    assert "engineering?" in unknown_vault("enginering", ["engineering", "home"]).hint


def test_an_unknown_vault_among_none_says_how_to_make_one():
    assert "rag index FOLDER" in unknown_vault("x", []).hint


def test_vaults_overlap_where_one_lies_in_another_or_is_the_same_folder():
    vaults = {"a": Path("/n/a"), "b": Path("/n/a/b"), "ab": Path("/n/ab"), "c": Path("/n/a/b")}
    assert sorted(overlaps(vaults)) == [("b", "a"), ("c", "a"), ("c", "b")]
