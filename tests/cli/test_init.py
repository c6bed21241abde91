"""`rag init`: what it finds, what it writes, and that `rag index` then reads it."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollama_faults import KINDS
from ollama_server import OllamaServer
from rag.app import setup
from rag.app.setup import find_vaults, toml_text, usual_places
from rag.config import load_config, user_file
from rag.index.snapshots import IndexDirectory

MODELS = ["all-minilm", "llama3.2", "embeddinggemma", "qwen3"]


@pytest.fixture
def make_vault(empty_home: Path) -> Callable[[str], Path]:
    """Make an Obsidian vault with one note below the home."""

    def make(path: str) -> Path:
        folder = empty_home / path
        (folder / ".obsidian").mkdir(parents=True)
        (folder / "Note.md").write_text(f"# Note of {folder.name}\n")
        return folder

    return make


def written(home: Path) -> dict[str, object]:
    return tomllib.loads((home / "rag.toml").read_text("utf-8"))


class TestVaults:
    def test_after_it_rag_index_reads_what_was_found(self, rag, make_vault, empty_home):
        make_vault("Documents/Work")
        make_vault("deep/in/here/私の")
        ran = rag("init")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.endswith("next: rag index\n")
        assert "Work" in ran.out and "私の" in ran.out
        assert rag("index", "-q").code == 0
        assert set(rag("vault", "list", "--json").json["vaults"]) == {"Work", "私の"}
        assert rag("search", "note", "--json").json["total"] == 2
        assert written(empty_home) == {}

    def test_a_folder_of_nothing_but_vaults_is_written_as_vaults_dir(
        self, rag, make_vault, empty_home
    ):
        make_vault("Obsidian/One")
        make_vault("Obsidian/Two")
        rag("init")
        assert written(empty_home) == {"vaults_dir": str(empty_home / "Obsidian")}
        assert rag("index", "-q").code == 0
        make_vault("Obsidian/Three")
        rag("index", "-q")
        assert set(rag("vault", "list", "--json").json["vaults"]) == {"One", "Two", "Three"}

    @pytest.mark.parametrize("other", ["plain folder", "vaults_dir set"])
    def test_otherwise_vaults_are_registered(
        self, rag, make_vault, empty_home, monkeypatch, tmp_path, other
    ):
        make_vault("Obsidian/One")
        make_vault("Obsidian/Two")
        if other == "plain folder":
            (empty_home / "Obsidian" / "Pictures").mkdir()
        else:
            (tmp_path / "mine").mkdir()
            monkeypatch.setenv("RAG_VAULTS_DIR", str(tmp_path / "mine"))
        rag("init")
        assert written(empty_home) == {}
        assert set(rag("vault", "list", "--json").json["vaults"]) == {"One", "Two"}

    def test_two_of_one_name_are_told_apart_by_the_user(self, rag, make_vault):
        make_vault("a/Notes")
        other = make_vault("b/Notes")
        ran = rag("init")
        assert "left out: " in ran.out
        assert f"rag index --name NAME {shlex.quote(str(other))}" in ran.out
        assert rag("index", "-q").code == 0
        assert list(rag("vault", "list", "--json").json["vaults"]) == ["Notes"]

    def test_those_known_already_are_said_to_be(self, rag, make_vault):
        rag("index", "-q", make_vault("Work"))
        [vault] = rag("init", "--json").json["vaults"]
        assert vault["known"] is True

    def test_only_the_folder_that_is_named_is_looked_in(self, rag, make_vault):
        make_vault("Documents/Work")
        make_vault("other/Play")
        found = rag("init", "other", "--json").json
        assert [vault["name"] for vault in found["vaults"]] == ["Play"]

    def test_a_folder_of_vaults_that_are_known_is_no_vault(self, rag, write_notes):
        inner = write_notes("plain/inner", {"a.md": "# A\n"})
        rag("index", inner)
        [vault] = rag("init", inner.parent, "--json").json["vaults"]
        assert (vault["name"], f"holds the vault {inner}" in vault["problem"]) == ("plain", True)

    def test_nor_is_a_folder_within_one(self, rag, write_notes):
        outer = write_notes("plain", {"inner/a.md": "# A\n"})
        rag("index", outer)
        [vault] = rag("init", outer / "inner", "--json").json["vaults"]
        assert f"lies in the vault {outer}" in vault["problem"]

    def test_a_known_vault_stays_one_whatever_it_holds(self, rag, write_notes):
        inner = write_notes("plain/inner", {"a.md": "# A\n"})
        rag("index", inner.parent)
        rag("index", inner)
        [vault] = rag("init", inner.parent, "--json").json["vaults"]
        assert (vault["known"], vault["problem"]) == (True, "")

    def test_a_folder_of_notes_that_is_named_is_a_vault(self, rag, write_notes):
        found = rag("init", write_notes("plain", {"a.md": "# A\n"}), "--json").json
        assert [vault["name"] for vault in found["vaults"]] == ["plain"]
        assert found["next"] == ["rag index"]

    def test_nothing_found_says_how_to_go_on(self, rag, tmp_path):
        (tmp_path / "empty").mkdir()
        ran = rag("init", tmp_path / "empty")
        assert ran.code == 0 and "next: rag index FOLDER" in ran.out


class TestLooking:
    def test_hidden_folders_links_and_the_inside_of_vaults_are_passed_over(
        self, make_vault, empty_home
    ):
        vault = make_vault("a/Vault")
        make_vault("a/Vault/inner")
        make_vault(".trash/Old")
        make_vault("Library/Cache")
        (empty_home / "link").symlink_to(vault)
        (empty_home / "round").symlink_to(empty_home)
        assert find_vaults([empty_home]) == ([vault], True)

    def test_it_goes_four_folders_deep(self, make_vault, empty_home):
        near, far = make_vault("1/2/3/4"), make_vault("a/b/c/d/e")
        vaults, is_whole = find_vaults([empty_home])
        assert near in vaults and far not in vaults and is_whole

    def test_the_usual_places_are_the_working_folder_and_some_below_the_home(self, empty_home):
        places = usual_places(Path("/here"))
        assert places[0] == Path("/here") and places[-1] == empty_home
        assert empty_home / "Documents" in places

    @pytest.mark.inside
    def test_it_gives_up_some_time_and_says_so(self, rag, make_vault, monkeypatch):
        make_vault("a")
        monkeypatch.setattr(setup.find_vaults, "__defaults__", (-1.0,))
        assert "time was up" in rag("init").out

    def test_a_folder_that_cannot_be_listed_is_passed_over(self, tmp_path):
        assert find_vaults([tmp_path / "nowhere"]) == ([], True)


class TestOllama:
    def test_models_are_chosen_by_what_they_can(self, rag, server, empty_home):
        found = rag("init", "--json").json
        assert found["ollama"] == {
            "url": server.url,
            "version": "0.33.0",
            "embedding_model": "embeddinggemma",  # it reads Japanese too
            "chat_model": "llama3.2",
            "error": "",
        }
        assert written(empty_home)["ollama"] == {
            "url": server.url,
            "embedding_model": "embeddinggemma",
            "chat_model": "llama3.2",
        }

    def test_a_folder_in_the_place_of_the_file_is_named(self, rag):
        Path("rag.toml").mkdir()
        ran = rag("init", "--force")
        assert ran.code == 2
        assert "rag.toml is a folder, and should be a file\nMove " in ran.err
        assert [path.name for path in Path().iterdir()] == ["rag.toml"]

    def test_what_it_writes_is_in_force(self, rag, server, monkeypatch):
        rag("init")
        monkeypatch.delenv("RAG_OLLAMA__URL")
        config = load_config()
        assert config.ollama.url == server.url
        assert config.ollama.embedding_model == "embeddinggemma"

    def test_the_default_is_preferred_and_not_written(self, rag, server, empty_home):
        server.models["bge-m3"] = server.api.registry["bge-m3"]
        assert rag("init", "--json").json["ollama"]["embedding_model"] == "bge-m3"
        assert "embedding_model" not in written(empty_home)["ollama"]

    def test_without_an_embedding_model_it_says_what_to_pull(self, rag, server, empty_home):
        for name in ("all-minilm", "embeddinggemma"):
            del server.models[name]
        ran = rag("init")
        assert "next: ollama pull bge-m3" in ran.out
        assert "embedding_model" not in written(empty_home)["ollama"]

    def test_models_on_two_servers(self, rag, server, monkeypatch):
        with OllamaServer(["qwen3"]) as other:
            monkeypatch.setenv("RAG_OLLAMA__GENERATION_URL", other.url)
            found = rag("init", "--json").json["ollama"]
        assert (found["embedding_model"], found["chat_model"]) == ("embeddinggemma", "qwen3")

    def test_switched_off_it_is_not_asked(self, rag, empty_home):
        ran = rag("init")
        assert ran.code == 0 and "switched off" in ran.out and written(empty_home) == {}

    @pytest.mark.parametrize("path", ["/api/version", "/api/tags", "/api/show"])
    @pytest.mark.parametrize("kind", sorted(set(KINDS) & {"status", "garbage"}))
    def test_a_broken_server_does_not_keep_it_from_writing(
        self, rag, server, make_vault, empty_home, path, kind
    ):
        make_vault("Work")
        server.fail(path, kind, times=None)
        ran = rag("init")
        assert (ran.code, ran.err) == (0, "") and "next: rag index\n" in ran.out
        assert written(empty_home) == {"ollama": {"url": server.url}}

    @pytest.mark.inside
    def test_a_server_that_says_nothing_is_given_up(self, rag, server, monkeypatch, empty_home):
        monkeypatch.setattr(setup, "_SECONDS", 0.3)
        server.fail("*", "endless", times=None)
        assert rag("init").code == 0 and (empty_home / "rag.toml").exists()


class TestFile:
    def test_it_is_never_replaced_unasked(self, rag, empty_home, make_vault):
        make_vault("Work")
        (empty_home / "rag.toml").write_text("# mine\n")
        ran = rag("init")
        assert (ran.code, ran.out) == (2, "") and "rag init --force" in ran.err
        assert (empty_home / "rag.toml").read_text() == "# mine\n"
        assert rag("vault", "list", "--json").json["vaults"] == {}
        assert rag("init", "--force").code == 0
        assert "rag init" in (empty_home / "rag.toml").read_text()

    @pytest.mark.parametrize("new", ["Obsidian/Three", "Elsewhere"])
    def test_replacing_it_loses_no_vault(self, rag, empty_home, make_vault, new):
        make_vault("Obsidian/One")
        make_vault("Obsidian/Two")
        rag("init")
        make_vault(new)
        assert rag("init", "--force").code == 0
        assert ("vaults_dir" in written(empty_home)) is (new == "Obsidian/Three")
        names = set(rag("vault", "list", "--json").json["vaults"])
        assert names == {"One", "Two", new.removeprefix("Obsidian/")}

    def test_the_file_that_is_read_is_the_one_that_counts(self, rag, empty_home):
        (empty_home / "config").mkdir()
        (empty_home / "config" / "rag.toml").write_text("# mine\n")
        assert rag("init").code == 2
        assert not (empty_home / "rag.toml").exists()

    def test_a_dry_run_writes_nothing(self, rag, empty_home, make_vault):
        make_vault("Work")
        before = sorted(empty_home.rglob("*"))
        ran = rag("init", "--dry-run")
        assert ran.code == 0 and "would write" in ran.out
        assert sorted(empty_home.rglob("*")) == before
        assert rag("vault", "list", "--json").json["vaults"] == {}
        assert rag("init", "--dry-run", "--json").json["written"] is False

    def test_a_dry_run_shows_what_would_replace_a_file(self, rag, empty_home):
        (empty_home / "rag.toml").write_text("# mine\n")
        ran = rag("init", "--dry-run")
        assert ran.code == 0 and "# Written by `rag init`" in ran.out
        assert (empty_home / "rag.toml").read_text() == "# mine\n"

    def test_the_user_s_own_file_counts_everywhere(self, rag, server, empty_home, tmp_path):
        assert rag("init", "--user").code == 0
        assert not (empty_home / "rag.toml").exists()
        config = load_config(env={}, cwd=tmp_path)
        assert config.origins["ollama.embedding_model"] == str(user_file())

    def test_names_with_quotes_survive(self, rag, make_vault, empty_home):
        make_vault('it\'s "mine"/One')
        make_vault('it\'s "mine"/Two')
        rag("init")
        assert written(empty_home) == {"vaults_dir": str(empty_home / 'it\'s "mine"')}

    def test_each_setting_stands_below_its_help(self, rag, server, empty_home):
        rag("init")
        text = (empty_home / "rag.toml").read_text()
        assert "# gives the vectors; empty means search by words\nembedding_model = " in text

    def test_while_the_index_is_written_nothing_is(self, rag, make_vault, empty_home, tmp_path):
        make_vault("Work")
        held = IndexDirectory(load_config().index_dir)
        with held.writing():
            assert rag("init").code == 75
        assert not (empty_home / "rag.toml").exists()


@given(st.text())
def test_whatever_a_folder_or_model_is_called_the_file_can_be_read(name: str) -> None:
    name = name.encode("utf-8", "replace").decode()
    changes = {"vaults_dir": name, "ollama.chat_model": name}
    read = tomllib.loads(toml_text("", changes))
    assert (read["vaults_dir"], read["ollama"]["chat_model"]) == (name, name)


def test_where_ollama_offers_nothing_other_servers_are_mentioned(rag, tmp_path, server):
    def content() -> str:
        return rag("init", "--dry-run", "--json").json["content"]

    assert "LM Studio" not in content()
    for name in ("llama3.2", "qwen3"):
        server.models.pop(name, None)
    uncommented = content().replace("# [", "[").replace("# url", "url")
    assert "LM Studio" in uncommented
    assert tomllib.loads(uncommented)["chat"] == {"url": "http://127.0.0.1:8080"}
