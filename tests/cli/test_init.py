"""`rag init`: what it finds, what it writes, and that `rag index` then reads it."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disk_files import write
from ollama_faults import KINDS
from rag.app.setup import find_vaults, toml_text

MODELS = ["all-minilm", "llama3.2", "embeddinggemma", "qwen3"]


@pytest.fixture
def make_vault(empty_home) -> Callable[[str], Path]:
    """Make an Obsidian vault with one note below the home."""

    def make(path: str) -> Path:
        folder = empty_home / path
        (folder / ".obsidian").mkdir(parents=True)
        return write(folder / "Note.md", f"# Note of {folder.name}\n").parent

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

    @pytest.mark.parametrize("path", ["/api/version", "/api/tags", "/api/show"])
    @pytest.mark.parametrize("kind", sorted(set(KINDS) & {"status", "garbage"}))
    def test_a_broken_server_does_not_keep_it_from_writing(
        self, rag, server, make_vault, empty_home, path, kind
    ):
        make_vault("Work")
        server.fail(path, kind, times=None)
        ran = rag("init")
        assert (ran.code, ran.err) == (0, "") and "next: rag index\n" in ran.out
        assert written(empty_home)["ollama"]["url"] == server.url


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


@given(st.text())
def test_whatever_a_model_is_called_the_file_can_be_read(name):
    name = name.encode("utf-8", "replace").decode()
    assert tomllib.loads(toml_text("", {"ollama.chat_model": name})) == {
        "ollama": {"chat_model": name}
    }
